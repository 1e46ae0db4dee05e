// The processes of one launch: mpirun, its ranks, their private temporary folder and their log. All
// carry a tag in their environment, by which end() finds the last of them. Private to
// coordinator/src/launch; one thread at a time.
#pragma once

#include "child_process.h"
#include "ditar/coordinator/file_lock.h"
#include "log_drain.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// Removes the folders `parent`/ditar-* of this user whose makers ended without removing them, as
/// SIGKILL makes them: a folder's lock is held while its maker lives.
void sweep_temporary_folders(const std::filesystem::path& parent);

/// A fresh folder with a short name, mode 0700, removed with what is in it. Sweeps first.
class TemporaryFolder {
 public:
  /// @throws IoError if /tmp takes no folder.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;
};

class LaunchedGroup {
 public:
  /// @param tag one entry of `environment`, "NAME=value", that no other launch has.
  /// @throws IoError if the launcher cannot be started or the log not written.
  LaunchedGroup(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                std::string tag, const std::filesystem::path& log_file, std::int64_t log_cap_bytes);
  /// Ends the group at once if it still lives.
  ~LaunchedGroup();

  /// How the launcher ended, if it has.
  std::optional<ExitStatus> poll_exit() { return child_.poll(); }
  std::optional<ExitStatus> wait_exit(std::chrono::milliseconds timeout) {
    return child_.wait(timeout);
  }
  /// The launcher and every process with the tag or in the launcher's session.
  std::vector<pid_t> pids() const;
  /// Sends `number` to the ranks, not to the launcher.
  void signal_ranks(int number) const noexcept;
  /// SIGTERM, `grace`, then SIGKILL to launcher and ranks until none is left. Idempotent.
  /// @throws IoError naming the pids if some cannot be killed within 10 s.
  void end(std::chrono::milliseconds grace);
  const LogDrain& log() const noexcept { return log_; }

 private:
  std::string tag_;
  LogDrain log_;
  ChildProcess child_;
  bool ended_ = false;
};

}  // namespace ditar
