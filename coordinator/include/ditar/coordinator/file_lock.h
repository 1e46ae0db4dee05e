// The one-writer lock of a state folder: flock on a close-on-exec file that also tells a person who
// holds it. The kernel lock decides; what is written in the file is only told. Move-only.
#pragma once

#include <filesystem>
#include <string>

namespace ditar {

class FileLock {
 public:
  /// Takes the lock at once. @throws Error (exit 75) with the holder's pid and start time if it is
  /// held, IoError if the file cannot be made.
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

/// "pid 1234, started 2026-01-31T12:00:00Z", as the file tells; empty if it tells nothing.
std::string lock_holder(const std::filesystem::path& file);

}  // namespace ditar
