#include "safetensors_header.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

namespace ditar::detail {
namespace {

using Json = nlohmann::json;

// The format's own limit; a longer header is an attack or damage, not a model.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kPrefixBytes = 8;
static_assert(std::endian::native == std::endian::little, "bytes are taken as they are stored");

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

[[noreturn]] void fail(const std::string& file, const std::string& fault) {
  throw DataError(file + ": " + fault + "; fetch or write the file again");
}

// nlohmann keeps the last of two equal keys; weights must not be ambiguous, so keys are watched.
Json parse_unique(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second && duplicate.empty()) duplicate = key;
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail(file, std::string("the header is not valid JSON (") + error.what() + ")");
  }
  if (!duplicate.empty()) fail(file, "the header has the key \"" + duplicate + "\" twice");
  if (!header.is_object()) fail(file, "the header is not a JSON object");
  return header;
}

StoredType parse_type(const Json& value, const std::string& where, const std::string& file) {
  static constexpr StoredType kAll[] = {
      StoredType::kF64, StoredType::kF32, StoredType::kF16, StoredType::kBF16, StoredType::kI64,
      StoredType::kI32, StoredType::kI16, StoredType::kI8,  StoredType::kU8,   StoredType::kBool};
  if (!value.is_string()) fail(file, where + " has a dtype that is not text");
  const auto& text = value.get_ref<const std::string&>();
  for (const StoredType type : kAll) {
    if (text == to_string(type)) return type;
  }
  fail(file, where + " has the dtype \"" + text + "\", which is not supported");
}

std::uint64_t parse_unsigned(const Json& value, const std::string& where, const std::string& file) {
  if (!value.is_number_unsigned()) fail(file, where + " is not a whole number >= 0");
  return value.get<std::uint64_t>();
}

// Elements times bytes per element; refuses what does not fit 63 bits.
std::uint64_t parse_shape(const Json& value, SafetensorsEntry& entry, const std::string& where,
                          const std::string& file) {
  if (!value.is_array()) fail(file, where + " has a shape that is not a list");
  constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = size_of(entry.type);
  for (const Json& item : value) {
    const std::uint64_t size = parse_unsigned(item, "a size in the shape of " + where, file);
    if (size > kLimit || (size != 0 && bytes > kLimit / size)) {
      fail(file, where + " has a shape whose size overflows");
    }
    bytes *= size;
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  return bytes;
}

Extent parse_extent(const Json& value, const std::string& where, const std::string& file) {
  if (!value.is_array() || value.size() != 2) {
    fail(file, where + " has data_offsets that are not a list of two");
  }
  return {parse_unsigned(value[0], "the begin offset of " + where, file),
          parse_unsigned(value[1], "the end offset of " + where, file)};
}

std::map<std::string, std::string> parse_metadata(const Json& value, const std::string& file) {
  if (!value.is_object()) fail(file, "__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string()) fail(file, "__metadata__ \"" + key + "\" is not text");
    metadata.emplace(key, item.get<std::string>());
  }
  return metadata;
}

std::pair<SafetensorsEntry, Extent> parse_entry(const std::string& key, const Json& value,
                                                std::uint64_t payload, const std::string& file) {
  const std::string where = "tensor \"" + key + "\"";
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    fail(file, where + " must have exactly dtype, shape and data_offsets");
  }
  SafetensorsEntry entry;
  entry.name = key;
  entry.type = parse_type(value["dtype"], where, file);
  const std::uint64_t bytes = parse_shape(value["shape"], entry, where, file);
  const Extent extent = parse_extent(value["data_offsets"], where, file);
  if (extent.begin > extent.end) fail(file, where + " ends before it begins");
  if (extent.end > payload) {
    fail(file, where + " ends at byte " + std::to_string(extent.end) + " of " +
                   std::to_string(payload) + ": the file is truncated");
  }
  if (extent.end - extent.begin != bytes) {
    fail(file, where + " of shape " + shape_text(entry.shape) + " " +
                   std::string(to_string(entry.type)) + " needs " + std::to_string(bytes) +
                   " bytes but has " + std::to_string(extent.end - extent.begin));
  }
  return {std::move(entry), extent};
}

std::string_view header_text(std::span<const std::byte> file, const std::string& name) {
  if (file.size() < kPrefixBytes) fail(name, "shorter than the 8 bytes of the header's length");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kPrefixBytes);
  if (length > kMaxHeaderBytes) {
    fail(name, "the header claims " + std::to_string(length) + " bytes, more than the limit of " +
                   std::to_string(kMaxHeaderBytes));
  }
  if (length > file.size() - kPrefixBytes) {
    fail(name, "the header claims " + std::to_string(length) + " bytes but the file has " +
                   std::to_string(file.size()) + ": the file is truncated");
  }
  const auto* text = reinterpret_cast<const char*>(file.data()) + kPrefixBytes;
  if (length == 0 || text[0] != '{') fail(name, "the header does not start with '{'");
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text = header_text(file, name);
  const auto payload = file.subspan(kPrefixBytes + text.size());
  const Json json = parse_unique(text, name);
  SafetensorsHeader header;
  std::vector<std::pair<SafetensorsEntry, Extent>> found;
  for (const auto& [key, value] : json.items()) {
    if (key == "__metadata__") {
      header.metadata = parse_metadata(value, name);
    } else {
      found.push_back(parse_entry(key, value, payload.size(), name));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
  });
  std::uint64_t cursor = 0;
  for (auto& [entry, extent] : found) {
    if (extent.begin != cursor) {
      fail(name, "tensor \"" + entry.name + "\" begins at byte " + std::to_string(extent.begin) +
                     " but the one before ends at " + std::to_string(cursor) +
                     (extent.begin < cursor ? ": they overlap" : ": there is a hole"));
    }
    cursor = extent.end;
    entry.bytes = payload.subspan(extent.begin, extent.end - extent.begin);
    header.entries.push_back(std::move(entry));
  }
  if (cursor != payload.size()) {
    fail(name, std::to_string(payload.size() - cursor) + " bytes after the last tensor");
  }
  return header;
}

}  // namespace ditar::detail
