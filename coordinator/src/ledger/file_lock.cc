#include "ditar/coordinator/file_lock.h"

#include "ditar/config/error.h"
#include "ledger/file_io.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ditar {
namespace {

std::string utc_now() {
  const time_t now = ::time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, length);
}

}  // namespace

std::string lock_holder(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  std::string text = read_whole(file).substr(0, 200);
  text.resize(std::min(text.size(), text.find('\n')));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return text;
}

FileLock::FileLock(const std::filesystem::path& file) {
  FileHandle handle = open_file(file, O_RDWR | O_CREAT);
  if (::flock(handle.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail_io("cannot lock " + file.string(), errno);
    const std::string holder = lock_holder(file);
    throw Error("another dit-ar holds " + file.string() +
                    (holder.empty() ? std::string() : " (" + holder + ")") +
                    "; wait for it or end it",
                ExitCode::kTemporary);
  }
  const std::string text = "pid " + std::to_string(::getpid()) + ", started " + utc_now() + "\n";
  // Only told to a person: a full disk must not keep the lock from being taken.
  if (::ftruncate(handle.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t told = ::pwrite(handle.get(), text.data(), text.size(), 0);
  }
  fd_ = ::fcntl(handle.get(), F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) fail_io("cannot lock " + file.string(), errno);
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}
FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace ditar
