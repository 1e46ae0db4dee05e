// NPZ is a zip archive of .npy members. Only "store" is needed here: local header, data, central
// directory, end record (PKWARE APPNOTE 4.3), with a fixed DOS date so that the bytes repeat.
#include "ditar/config/error.h"
#include "ditar/coordinator/image_grid.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace ditar {
namespace {

constexpr std::uint16_t kDosDate = 0x0021;  // 1980-01-01

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
}

std::string npy_header(const std::string& dtype, const std::string& shape) {
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
  const std::size_t unpadded = 10 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text.push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, text.size(), 2);
  return out + text;
}

void common_fields(std::string& out, const std::string& name, const std::string& data) {
  put(out, 20, 2);  // version needed
  put(out, 0, 2);   // flags
  put(out, 0, 2);   // method: store
  put(out, 0, 2);   // time
  put(out, kDosDate, 2);
  put(out, crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())),
      4);
  put(out, data.size(), 4);
  put(out, data.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2);  // extra field
}

class ZipStore {
 public:
  void add(const std::string& name, const std::string& data) {
    require(data.size() < 0xFFFF0000U && body_.size() < 0xFFFF0000U - data.size(),
            "npz: more than 4 GiB of pixels; generate fewer images per file");
    const std::size_t offset = body_.size();
    put(body_, 0x04034b50, 4);
    common_fields(body_, name, data);
    body_ += name;
    body_ += data;
    put(directory_, 0x02014b50, 4);
    put(directory_, 20, 2);  // made by
    common_fields(directory_, name, data);
    put(directory_, 0, 2);  // comment
    put(directory_, 0, 2);  // disk
    put(directory_, 0, 2);  // internal attributes
    put(directory_, 0, 4);  // external attributes
    put(directory_, offset, 4);
    directory_ += name;
    ++count_;
  }

  std::string finish() const {
    std::string out = body_ + directory_;
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, count_, 2);
    put(out, count_, 2);
    put(out, directory_.size(), 4);
    put(out, body_.size(), 4);
    put(out, 0, 2);
    return out;
  }

 private:
  std::string body_, directory_;
  std::uint64_t count_ = 0;
};

}  // namespace

void write_npz(const std::filesystem::path& path, const PixelBatch& pixels,
               std::span<const std::int32_t> labels) {
  require(static_cast<std::int64_t>(labels.size()) == pixels.images,
          "npz: one label per image is needed");
  ZipStore zip;
  zip.add("arr_0.npy", npy_header("|u1", "(" + std::to_string(pixels.images) + ", " +
                                             std::to_string(pixels.height) + ", " +
                                             std::to_string(pixels.width) + ", " +
                                             std::to_string(pixels.channels) + ")") +
                           std::string(pixels.bytes.begin(), pixels.bytes.end()));
  std::string label_bytes = npy_header("<i8", "(" + std::to_string(labels.size()) + ",)");
  for (const std::int32_t label : labels) {
    put(label_bytes, static_cast<std::uint64_t>(std::int64_t{label}), 8);
  }
  zip.add("arr_1.npy", label_bytes);
  const std::string bytes = zip.finish();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw IoError("cannot write " + path.string() + ": " + std::strerror(errno) +
                  "; choose another --npz");
  }
}

}  // namespace ditar
