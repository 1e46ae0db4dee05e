#include "ditar/coordinator/blob_store.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ledger/file_io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ditar {

void write_file_durably(const std::filesystem::path& file, std::string_view bytes) {
  std::string name = file.string() + ".tmp-XXXXXX";
  const FileHandle handle(::mkostemp(name.data(), O_CLOEXEC));
  if (!handle.valid()) fail_io("cannot write beside " + file.string(), errno);
  try {
    write_all(handle.get(), bytes, file);
    if (::fchmod(handle.get(), 0644) != 0 || ::fsync(handle.get()) != 0) {
      fail_io("cannot write " + file.string(), errno);
    }
    if (::rename(name.c_str(), file.c_str()) != 0) {
      fail_io("cannot replace " + file.string(), errno);
    }
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
  sync_folder(file.has_parent_path() ? file.parent_path() : ".");
}

std::filesystem::path BlobStore::path_of(const std::string& sha256) const {
  require(sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos,
          "\"" + sha256 + "\" is no SHA-256");
  return directory_ / sha256.substr(0, 2) / sha256;
}

bool BlobStore::has(const std::string& sha256) const {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path_of(sha256), ignored);
}

std::string BlobStore::put(std::string_view bytes) const {
  const std::string hash = sha256_hex(bytes);
  const std::filesystem::path file = path_of(hash);
  if (has(hash) && sha256_file(file) == hash) return hash;
  std::error_code error;
  const bool fresh = std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw IoError("cannot make " + file.parent_path().string() + ": " + error.message());
  if (fresh) sync_folder(directory_);
  write_file_durably(file, bytes);
  return hash;
}

std::string BlobStore::get(const std::string& sha256) const {
  const std::filesystem::path file = path_of(sha256);
  if (!has(sha256)) throw DataError("the stored data " + file.string() + " is missing");
  std::string bytes = read_whole(file);
  if (sha256_hex(bytes) != sha256) {
    throw DataError("the stored data " + file.string() + " is damaged: its hash does not fit");
  }
  return bytes;
}

}  // namespace ditar
