// Starting and ending processes. A child gets its own session and dies with the thread that started
// it. Private to coordinator/src/launch. Objects are used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// How a process ended.
struct ExitStatus {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = -1;     ///< -1 if it ended by itself
};

/// Owns one child; its destructor kills and reaps it. Move-only.
class ChildProcess {
 public:
  /// fork + exec of `argv[0]` (absolute) with exactly `environment` ("NAME=value") in `directory`;
  /// stdin is /dev/null, stdout and stderr go to `output_fd`. No other descriptor is inherited.
  /// @throws IoError naming the program and the cause if it cannot be started.
  ChildProcess(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
               const std::string& directory, int output_fd);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// How it ended, if it has; reaps it then. Does not block.
  std::optional<ExitStatus> poll();
  /// Waits up to `timeout`.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);
  void signal(int number) noexcept;

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

/// Output of a short command, stdout and stderr together, cut at 64 KiB.
struct CommandOutput {
  std::string text;
  ExitStatus status;
};
/// Runs a command to its end, or kills it after `timeout`.
CommandOutput run_command(const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment,
                          std::chrono::milliseconds timeout);

/// The processes of this user whose environment holds `entry` ("NAME=value") or whose session is
/// `session` (-1: none), zombies left out.
std::vector<pid_t> find_tagged(const std::string& entry, pid_t session);
/// The number of process `pid` in its own, innermost pid namespace; -1 if it is gone.
pid_t inner_pid(pid_t pid);

}  // namespace ditar
