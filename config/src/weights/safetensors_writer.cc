#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <fstream>

namespace ditar {
namespace {

std::string make_header(std::span<const SafetensorsItem> items,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const SafetensorsItem& item : items) {
    std::uint64_t bytes = size_of(item.type);
    for (const std::int64_t size : item.shape) bytes *= static_cast<std::uint64_t>(size);
    require(bytes == item.bytes.size(), "write_safetensors: \"" + item.name + "\" of shape " +
                                            shape_text(item.shape) + " needs " +
                                            std::to_string(bytes) + " bytes, given were " +
                                            std::to_string(item.bytes.size()));
    require(item.name != "__metadata__" && !header.contains(item.name),
            "write_safetensors: the name \"" + item.name + "\" is reserved or given twice");
    header[item.name] = {{"dtype", to_string(item.type)},
                         {"shape", item.shape},
                         {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // keeps the payload 8-byte aligned
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsItem> items,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = make_header(items, metadata);
  std::filesystem::path part = path;
  part += ".part-" + std::to_string(::getpid());
  {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    const auto length = static_cast<std::uint64_t>(header.size());
    out.write(reinterpret_cast<const char*>(&length), sizeof(length));
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const SafetensorsItem& item : items) {
      out.write(reinterpret_cast<const char*>(item.bytes.data()),
                static_cast<std::streamsize>(item.bytes.size()));
    }
    out.flush();
    if (!out) {
      std::error_code ignored;
      std::filesystem::remove(part, ignored);
      throw IoError(path.string() + ": cannot write; check the folder and the free space");
    }
  }
  std::error_code failure;
  std::filesystem::rename(part, path, failure);
  if (failure) throw IoError(path.string() + ": cannot replace: " + failure.message());
}

}  // namespace ditar
