// Runs one program to its end without a shell: absolute path, explicit environment, own process
// group, time limit. Blocking; safe to call from several threads. Owns the children it starts: none
// of the group is left when it returns, and the program dies with the thread that started it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ditar {

struct ProcessSpec {
  std::filesystem::path program;  ///< absolute
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< the whole of it
  std::filesystem::path directory;                 ///< empty: this process's own
  std::string input;                               ///< bytes for stdin, then end of file
  std::filesystem::path log_file;  ///< where set, stdout and stderr go there and not into memory
  std::chrono::milliseconds timeout{60'000};
  std::int64_t output_cap_bytes = std::int64_t{512} << 20;  ///< more ends the process
  /// Where set and true, the program is asked to end (SIGTERM), then killed.
  const std::atomic<bool>* cancel = nullptr;
};

struct ProcessResult {
  int exit_code = 0;  ///< 128 + n if signal n ended it
  bool timed_out = false;
  bool capped = false;
  bool cancelled = false;
  std::string output, errors;
  bool ok() const noexcept { return exit_code == 0 && !timed_out && !capped && !cancelled; }
};

/// @throws IoError if the program cannot be started.
ProcessResult run_process(const ProcessSpec& spec);

/// First executable file of that name on `search_path` (default: this process's PATH), absolute.
/// @throws Unavailable naming it otherwise.
std::filesystem::path find_program(const std::string& name, const std::string& search_path = "");

/// The named variables of this process's environment that are set.
std::map<std::string, std::string> allowed_environment(const std::vector<std::string>& names);

}  // namespace ditar
