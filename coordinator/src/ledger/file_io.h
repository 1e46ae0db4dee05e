// Small owners and calls over POSIX files. Internal to the coordinator's state folders.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ditar {

/// Owns a file descriptor. Move-only.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) noexcept : fd_(fd) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Opens with O_CLOEXEC. @throws IoError "cannot open <file>: <system's reason>".
FileHandle open_file(const std::filesystem::path& file, int flags, int mode = 0644);
/// Whole content of an open file from its start. @throws IoError.
std::string read_whole(int fd, const std::filesystem::path& file);
std::string read_whole(const std::filesystem::path& file);
/// All bytes; repeats short writes. @throws IoError with the system's reason.
void write_all(int fd, std::string_view bytes, const std::filesystem::path& file);
/// fsync of a folder, so that a name made in it lasts. @throws IoError.
void sync_folder(const std::filesystem::path& folder);
/// "message: system's reason of errno".
[[noreturn]] void fail_io(const std::string& message, int error_number);
/// The calling thread gets no SIGXFSZ in the scope: a write beyond RLIMIT_FSIZE fails with EFBIG.
class FileSizeSignalGuard {
 public:
  FileSizeSignalGuard() noexcept;
  ~FileSizeSignalGuard();
  FileSizeSignalGuard(const FileSizeSignalGuard&) = delete;
  FileSizeSignalGuard& operator=(const FileSizeSignalGuard&) = delete;

 private:
  bool blocked_before_ = false;
};

}  // namespace ditar
