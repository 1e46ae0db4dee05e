// Reader and writer of .safetensors files: 8 bytes little-endian header length, a JSON header, then
// the tensors' bytes. The reader maps the file and checks all of it before it hands anything out.
// A SafetensorsFile is immutable and may be shared by threads; entries point into it and must not
// outlive it. The file must not be cut while it is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// Element kinds that the format stores and this reader accepts.
enum class StoredType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };
/// "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL".
std::string_view to_string(StoredType type) noexcept;
std::size_t size_of(StoredType type) noexcept;

/// One tensor of a file. `bytes` are little-endian, row-major and may lie at any alignment.
struct SafetensorsEntry {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::int64_t> shape;  ///< empty: a scalar (0-d) with one element
  std::span<const std::byte> bytes;
  std::int64_t count() const noexcept;
};
/// "[11, 128]".
std::string shape_text(std::span<const std::int64_t> shape);

class SafetensorsFile {
 public:
  /// Maps and checks `path`. @throws IoError if it cannot be read; DataError naming file and fault
  /// if it is cut, has an oversized header, bad JSON, a duplicate key, an unknown dtype, a size
  /// that does not fit its shape, or offsets that overlap, leave holes or miss the end of the file.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::filesystem::path& path() const noexcept;
  /// In the order of their bytes in the file.
  const std::vector<SafetensorsEntry>& entries() const noexcept;
  /// The header's `__metadata__`; empty if there is none.
  const std::map<std::string, std::string>& metadata() const noexcept;
  /// Null if the file has no tensor of that name.
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  /// @throws DataError naming file and key if it is missing.
  const SafetensorsEntry& at(std::string_view name) const;
  /// at(), and the shape must be `shape`. @throws DataError with both shapes.
  const SafetensorsEntry& at(std::string_view name, std::span<const std::int64_t> shape) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Converts any floating entry (F64, F32, F16, BF16) to `out` (entry.count() elements).
/// @throws DataError naming the key if it is not floating, or if a finite F64 does not fit FP32.
void read_floats(const SafetensorsEntry& entry, std::span<float> out);
void read_floats(const SafetensorsEntry& entry, std::span<double> out);
std::vector<float> read_f32(const SafetensorsEntry& entry);
std::vector<double> read_f64(const SafetensorsEntry& entry);
/// Widens an integer entry (I64, I32, I16, I8, U8). @throws DataError if it is not integer.
std::vector<std::int64_t> read_i64(const SafetensorsEntry& entry);

/// One tensor to be written; `bytes` must hold product(shape) * size_of(type) bytes.
struct SafetensorsItem {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};
/// Writes a file that SafetensorsFile accepts; replaces `path` in one rename.
/// @throws InvalidArgument for a wrong size or a name given twice, IoError if writing fails.
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsItem> items,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ditar
