// One list of fields per message serves writing and reading: `fields(archive, value)` names them.
// Private to config/src/wire; the only place of the wire that sees the JSON library.
#pragma once

#include "ditar/config/wire_frame.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace ditar::wire {

using Json = nlohmann::json;

[[noreturn]] inline void bad_meta(const std::string& what) {
  throw FrameError(FrameFault::kMeta, "a message's text is not as agreed: " + what);
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

class MetaWriter {
 public:
  template <typename T>
  void operator()(const char* key, const T& value) {
    object_[key] = to_json(value);
  }
  Json take() { return std::move(object_); }

 private:
  template <typename T>
  static Json to_json(const T& value);
  Json object_ = Json::object();
};

class MetaReader {
 public:
  explicit MetaReader(const Json& object) : object_(object) {
    if (!object.is_object()) bad_meta("an object is expected");
  }
  template <typename T>
  void operator()(const char* key, T& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) bad_meta(std::string("key \"") + key + "\" is missing");
    from_json(key, *found, value);
    ++read_;
  }
  void finish() const {
    if (read_ != object_.size()) bad_meta("there are keys this version does not know");
  }

 private:
  template <typename T>
  static void from_json(const char* key, const Json& json, T& value);
  const Json& object_;
  std::size_t read_ = 0;
};

template <typename T>
Json MetaWriter::to_json(const T& value) {
  if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(to_json(item));
    return array;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    MetaWriter inner;
    fields(inner, value);
    return inner.take();
  }
}

template <typename T>
void read_integer(const char* key, const Json& json, T& value) {
  if (!json.is_number_integer()) bad_meta(std::string("\"") + key + "\" is not a whole number");
  bool fits = false;
  if (json.is_number_unsigned()) {
    const auto wide = json.get<std::uint64_t>();
    fits = wide <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    value = static_cast<T>(wide);
  } else {
    const auto wide = json.get<std::int64_t>();
    fits = std::is_signed_v<T> &&
           wide >= static_cast<std::int64_t>(std::numeric_limits<T>::min());  // negative here
    value = static_cast<T>(wide);
  }
  if (!fits) bad_meta(std::string("\"") + key + "\" is out of range");
}

template <typename T>
void MetaReader::from_json(const char* key, const Json& json, T& value) {
  if constexpr (IsVector<T>::value) {
    if (!json.is_array()) bad_meta(std::string("\"") + key + "\" is not a list");
    value.clear();
    value.reserve(json.size());
    for (const auto& item : json) from_json(key, item, value.emplace_back());
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) bad_meta(std::string("\"") + key + "\" is not a text");
    value = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) bad_meta(std::string("\"") + key + "\" is not true or false");
    value = json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    read_integer(key, json, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) bad_meta(std::string("\"") + key + "\" is not a number");
    value = json.get<T>();
  } else {
    MetaReader inner(json);
    fields(inner, value);
    inner.finish();
  }
}

/// Parses a text; refuses duplicate keys, bytes that are not UTF-8, and anything after the value.
Json parse_strict(std::string_view text);

}  // namespace ditar::wire
