#include "ledger/file_io.h"

#include "ditar/config/error.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace ditar {

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}
FileHandle::FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void fail_io(const std::string& message, int error_number) {
  throw IoError(message + ": " + std::generic_category().message(error_number));
}

FileHandle open_file(const std::filesystem::path& file, int flags, int mode) {
  const int fd = ::open(file.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) fail_io("cannot open " + file.string(), errno);
  return FileHandle(fd);
}

std::string read_whole(int fd, const std::filesystem::path& file) {
  std::string bytes;
  char chunk[1 << 16];
  while (true) {
    const ssize_t got = ::pread(fd, chunk, sizeof chunk, static_cast<off_t>(bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("cannot read " + file.string(), errno);
    if (got == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
}

std::string read_whole(const std::filesystem::path& file) {
  return read_whole(open_file(file, O_RDONLY).get(), file);
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& file) {
  const FileSizeSignalGuard guard;
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io("cannot write " + file.string(), errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const FileHandle handle = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(handle.get()) != 0) fail_io("cannot sync " + folder.string(), errno);
}

FileSizeSignalGuard::FileSizeSignalGuard() noexcept {
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  blocked_before_ = sigismember(&before, SIGXFSZ) == 1;
}

FileSizeSignalGuard::~FileSizeSignalGuard() {
  if (blocked_before_) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  const timespec now{0, 0};
  while (sigtimedwait(&set, nullptr, &now) == SIGXFSZ) {
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace ditar
