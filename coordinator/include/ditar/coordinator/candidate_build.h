// Builds the worker of one commit in isolation from its git tree. One stable slot per state folder
// (`build-slot/{src,build}`) is synced by content, so only what differs is compiled again; a change
// of toolchain, options or headers' names starts it anew, one of CMake files configures it anew.
// One build at a time (the slot is locked).
#pragma once

#include "ditar/coordinator/build_flags.h"
#include "ditar/coordinator/git_repository.h"
#include "ditar/coordinator/isolation.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

struct BuildRequest {
  std::string tree;                       ///< git tree id
  std::filesystem::path state_directory;  ///< .autoresearch
  std::string target = "dit-worker";
  std::string binary = "bin/dit-worker";  ///< below the build folder
  std::string build_type = "Release";
  std::vector<std::string> cmake_options;  ///< "-DNAME=value"
  std::vector<std::string> environment_allow = {"PATH", "LANG"};
  /// Architectures of native GPU code (86: sm_86). Empty: no CUDA. nvcc is found by PATH, CUDA_HOME
  /// or /usr/local/cuda.
  std::vector<int> cuda_architectures;
  int jobs = 0;  ///< 0: one per CPU this process may use
  std::chrono::milliseconds timeout{300'000};
  bool fresh = false;                         ///< empty the slot first
  Isolation isolate;                          ///< configure and compile run inside it
  const std::atomic<bool>* cancel = nullptr;  ///< where set and true, the build is ended
};

struct BuildResult {
  bool ok = false;
  bool timed_out = false;
  bool reused = false;           ///< this tree was built before with the same recipe
  bool from_scratch = false;     ///< the slot was emptied first
  std::string phase;             ///< where it failed: "configure", "compile", "cancelled"
  std::string first_error;       ///< "file:line: message", path relative to the tree; empty if ok
  std::filesystem::path binary;  ///< builds/<tree>-<recipe>/<name>, read-only
  std::string binary_sha256;
  BuildFlags flags;              ///< of every compile line
  std::string recipe;            ///< SHA-256 of compiler, options, environment
  std::filesystem::path source;  ///< trees/<tree>
  std::filesystem::path log;
  double seconds = 0.0;  ///< wall time
};

/// Blocks until the worker is built, fails or the time is up. A compile error is a result, not an
/// exception, and so is a cancelled build (phase "cancelled"). @throws DataError if the tree cannot
/// be exported, Unavailable if cmake, ninja, a compiler or (for CUDA) nvcc is missing, Error (exit
/// 75) if another build holds the slot, IoError.
BuildResult build_candidate(const GitRepository& git, const BuildRequest& request);

/// Exports a tree to `state_directory`/trees/<tree> if it is not there yet; gives the folder.
std::filesystem::path export_tree(const GitRepository& git, const std::string& tree,
                                  const std::filesystem::path& state_directory);

/// First compiler, CMake or linker error of a log, with `source` cut from paths; empty if none.
std::string first_build_error(const std::string& log_text, const std::filesystem::path& source);

/// Removes least recently used trees and builds until both together fit `budget_bytes`. `keep` are
/// tree ids never removed. @return bytes freed.
std::int64_t prune_builds(const std::filesystem::path& state_directory, std::int64_t budget_bytes,
                          const std::vector<std::string>& keep);

}  // namespace ditar
