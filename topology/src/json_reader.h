// A strict reader of one JSON object: every key must be asked for, and faults name their place.
// Private to this folder; not thread-safe.
#pragma once

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ditar {

class JsonReader {
 public:
  JsonReader(const nlohmann::json& object, std::string place)
      : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) fail("", "must be an object");
  }

  const std::string& place() const noexcept { return place_; }
  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    throw DataError(at(key) + " " + why);
  }
  std::string at(const std::string& key) const { return key.empty() ? place_ : place_ + "." + key; }

  /// Null where the key is absent or null.
  const nlohmann::json* find(const std::string& key) {
    seen_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  const nlohmann::json& need(const std::string& key) {
    if (const auto* value = find(key)) return *value;
    fail(key, "is missing");
  }
  std::string text(const std::string& key) {
    const auto* value = find(key);
    if (!value) return {};
    if (!value->is_string()) fail(key, "must be text");
    return value->get<std::string>();
  }
  std::optional<std::int64_t> integer(const std::string& key) {
    const auto* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number_integer()) fail(key, "must be a whole number");
    return value->get<std::int64_t>();
  }
  std::optional<int> small(const std::string& key) {
    const auto value = integer(key);
    if (!value) return std::nullopt;
    if (*value < 0 || *value > 1'000'000) fail(key, "must be between 0 and 1000000");
    return static_cast<int>(*value);
  }
  int need_small(const std::string& key) {
    if (const auto value = small(key)) return *value;
    fail(key, "is missing");
  }
  double need_real(const std::string& key) {
    const auto& value = need(key);
    if (!value.is_number()) fail(key, "must be a number");
    return value.get<double>();
  }
  bool flag(const std::string& key) {
    const auto* value = find(key);
    if (!value) return false;
    if (!value->is_boolean()) fail(key, "must be true or false");
    return value->get<bool>();
  }
  const nlohmann::json& list(const std::string& key) {
    static const nlohmann::json kEmpty = nlohmann::json::array();
    const auto* value = find(key);
    if (!value) return kEmpty;
    if (!value->is_array()) fail(key, "must be a list");
    return *value;
  }
  /// Refuses every key that was not asked for.
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (seen_.count(key) == 0) fail(key, "is not a known key");
    }
  }

 private:
  const nlohmann::json& object_;
  std::string place_;
  std::set<std::string> seen_;
};

}  // namespace ditar
