#include "ditar/config/safetensors.h"

#include "ditar/config/error.h"
#include "safetensors_header.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>

namespace ditar {
namespace {

[[noreturn]] void io_fail(const std::filesystem::path& path, const char* doing) {
  throw IoError(path.string() + ": cannot " + doing + ": " + std::strerror(errno));
}

// A read-only private mapping of a whole regular file.
class Mapping {
 public:
  explicit Mapping(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) io_fail(path, "open");
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      throw IoError(path.string() + ": not a regular file; give a .safetensors file");
    }
    size_ = static_cast<std::size_t>(info.st_size);
    if (size_ > 0) {
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    ::close(fd);
    if (data_ == MAP_FAILED) {
      data_ = nullptr;
      io_fail(path, "map");
    }
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(data_), size_};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

struct SafetensorsFile::Impl {
  explicit Impl(const std::filesystem::path& file_path) : path(file_path), mapping(file_path) {
    header = detail::parse_safetensors(mapping.bytes(), path.string());
    for (std::size_t i = 0; i < header.entries.size(); ++i) index[header.entries[i].name] = i;
  }
  std::filesystem::path path;
  Mapping mapping;
  detail::SafetensorsHeader header;
  std::unordered_map<std::string_view, std::size_t> index;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>(path)) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::filesystem::path& SafetensorsFile::path() const noexcept { return impl_->path; }
const std::vector<SafetensorsEntry>& SafetensorsFile::entries() const noexcept {
  return impl_->header.entries;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const noexcept {
  return impl_->header.metadata;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto it = impl_->index.find(name);
  return it == impl_->index.end() ? nullptr : &impl_->header.entries[it->second];
}

const SafetensorsEntry& SafetensorsFile::at(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) {
    throw DataError(path().string() + ": the tensor \"" + std::string(name) +
                    "\" is missing; this is not the kind of file that was asked for");
  }
  return *entry;
}

const SafetensorsEntry& SafetensorsFile::at(std::string_view name,
                                            std::span<const std::int64_t> shape) const {
  const SafetensorsEntry& entry = at(name);
  if (!std::equal(entry.shape.begin(), entry.shape.end(), shape.begin(), shape.end())) {
    throw DataError(path().string() + ": tensor \"" + entry.name + "\" has the shape " +
                    shape_text(entry.shape) + " where " + shape_text(shape) + " is needed");
  }
  return entry;
}

}  // namespace ditar
