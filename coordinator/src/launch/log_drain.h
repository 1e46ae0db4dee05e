// Reads what a group writes, so that no rank ever blocks on a full pipe: the first bytes go to a
// file, the last lines stay in memory, the rest is dropped and counted. Private to
// coordinator/src/launch. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

namespace ditar {

class LogDrain {
 public:
  /// Starts reading into `file`, of which at most `cap_bytes` are written.
  /// @throws IoError if the file cannot be written.
  LogDrain(const std::filesystem::path& file, std::int64_t cap_bytes);
  ~LogDrain();
  LogDrain(const LogDrain&) = delete;
  LogDrain& operator=(const LogDrain&) = delete;

  /// Where the group writes to; close_input() after it was started, so that its end is seen.
  int input() const noexcept { return write_fd_; }
  void close_input();
  /// The last lines written, 4 KiB at most.
  std::string tail() const;
  /// The last 64 KiB written, for finding what the launcher says of a dead rank.
  std::string recent() const;
  std::int64_t total_bytes() const;

 private:
  void drain();
  void take(const char* data, std::size_t size);

  mutable std::mutex mutex_;
  int read_fd_ = -1;
  int write_fd_ = -1;
  int stop_fd_ = -1;
  int file_fd_ = -1;
  std::int64_t cap_bytes_;
  std::int64_t total_bytes_ = 0;
  std::string recent_;
  std::thread thread_;
};

}  // namespace ditar
