#include "log_drain.h"

#include "ditar/config/error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ditar {

namespace {

constexpr std::size_t kRecentBytes = 65536;
constexpr std::size_t kTailBytes = 4096;
constexpr char kCut[] = "\n[output beyond the limit was dropped]\n";

}  // namespace

LogDrain::LogDrain(const std::filesystem::path& file, std::int64_t cap_bytes)
    : cap_bytes_(cap_bytes) {
  file_fd_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_fd_ < 0) {
    throw IoError("cannot write the launch log " + file.string() + ": " + std::strerror(errno));
  }
  std::array<int, 2> ends{-1, -1};
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_fd_ < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    ::close(file_fd_);
    if (stop_fd_ >= 0) ::close(stop_fd_);
    throw IoError("no pipe for the launch log: " + std::string(std::strerror(errno)));
  }
  read_fd_ = ends[0];
  write_fd_ = ends[1];
  thread_ = std::thread([this] { drain(); });
}

LogDrain::~LogDrain() {
  close_input();
  const std::uint64_t one = 1;
  while (::write(stop_fd_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  for (const int fd : {read_fd_, stop_fd_, file_fd_}) ::close(fd);
}

void LogDrain::close_input() {
  if (write_fd_ >= 0) ::close(write_fd_);
  write_fd_ = -1;
}

void LogDrain::drain() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::array<char, 65536> block{};
  while (true) {
    std::array<pollfd, 2> items = {{{read_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    if (::poll(items.data(), items.size(), -1) < 0) continue;
    if (items[0].revents != 0) {
      const ssize_t got = ::read(read_fd_, block.data(), block.size());
      if (got > 0) {
        take(block.data(), static_cast<std::size_t>(got));
        if (items[1].revents == 0) continue;
      } else if (got == 0) {
        return;
      }
    }
    if (items[1].revents != 0) return;
  }
}

void LogDrain::take(const char* data, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (total_bytes_ < cap_bytes_) {
    const auto room = static_cast<std::size_t>(cap_bytes_ - total_bytes_);
    (void)!::write(file_fd_, data, std::min(room, size));
    if (size >= room) (void)!::write(file_fd_, kCut, sizeof kCut - 1);
  }
  total_bytes_ += static_cast<std::int64_t>(size);
  recent_.append(data, size);
  if (recent_.size() > 2 * kRecentBytes) recent_.erase(0, recent_.size() - kRecentBytes);
}

std::string LogDrain::recent() const {
  const std::lock_guard lock(mutex_);
  return recent_;
}

std::string LogDrain::tail() const {
  std::string text = recent();
  if (text.size() <= kTailBytes) return text;
  text.erase(0, text.size() - kTailBytes);
  const auto line = text.find('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::int64_t LogDrain::total_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_bytes_;
}

}  // namespace ditar
