// A research session on real commits: a scratch clone of this repository whose engine is slowed on
// purpose, with a baseline that ctest's set-up measured once, driven through the dit-ar of this
// build. The worker is built and launched for real. One user at a time (RESOURCE_LOCK session).
#pragma once

#include "ditar/coordinator/subprocess.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ditar {

/// `find` must occur exactly once in `file`.
struct SourceEdit {
  std::string file, find, replace;
};

/// Where the engine's main loop over its blocks can be changed, and how often the slowed original
/// computes each product of a linear layer.
inline constexpr const char* kBlockLoop =
    "for (std::size_t i = 0; i < weights_->blocks.size(); ++i) block(i, clock);";
inline constexpr const char* kBlockFile = "worker/dit/denoiser.cc";
inline constexpr const char* kProductFile = "kernels/src/cpu/linear_cpu.cc";
inline constexpr const char* kSlowedProduct = "for (int again = 0; again < 4; ++again) ";

class ScratchSession {
 public:
  /// The clone that the set-up made. Fails the running test if there is none.
  ScratchSession();
  /// Makes the clone anew: HEAD of this repository with what is changed in its tracked files, then
  /// one commit that slows the engine and makes the lane's suite and speed test small. The build
  /// slot of an earlier run is kept. @return why it cannot be made; empty if it was
  static std::string make_clone();

  /// Back to the state after the set-up: branch, commits, ledger and refs.
  void restore() const;
  /// The build slot too, which a killed build leaves to be emptied.
  void restore_build_slot() const;
  /// Keeps the present state for restore().
  void keep_state() const;

  /// dit-ar --config config/autoresearch.json ARGUMENTS in the clone, with this build's dit-ar.
  ProcessResult dit_ar(const std::vector<std::string>& arguments) const;
  /// Lines for bash, which finds dit-ar on its PATH.
  ProcessResult bash(const std::string& lines) const;
  /// The same; a failure fails the test.
  std::string git(const std::string& arguments) const;

  void edit(const std::vector<SourceEdit>& edits) const;
  void set_knob(const std::string& name, const nlohmann::json& value) const;
  void commit(const std::string& message) const;
  /// The experiment's JSON document. RETRY, which only the machine can cause, is tried again.
  nlohmann::json experiment(const std::string& classification,
                            const std::string& description) const;

  const std::filesystem::path& root() const noexcept { return root_; }
  std::string read(const std::string& path) const;
  void write(const std::string& path, const std::string& text) const;

  static std::filesystem::path folder();

  /// dit-ar's path and the words, folder and environment that dit_ar() uses.
  ProcessSpec command(const std::vector<std::string>& arguments) const;

 private:
  explicit ScratchSession(std::filesystem::path root);
  ProcessSpec spec(const std::filesystem::path& program) const;

  std::filesystem::path root_;
};

/// "DISCARD(class)" and the like.
std::string verdict_of(const nlohmann::json& document);

}  // namespace ditar
