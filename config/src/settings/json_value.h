// The parsed form behind JsonDocument. Internal to config/src/settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditar {

struct JsonPlace {
  std::int64_t line = 1, column = 1;
};

struct JsonValue {
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0.0;
  std::string text;
  JsonPlace place;  ///< of the member's key, else of the value
  std::vector<JsonValue> items;
  std::vector<std::pair<std::string, JsonValue>> members;  ///< in file order
};

/// @throws ConfigError "name:line:column: ..." for bad JSON or a key given twice.
JsonValue parse_json_value(std::string_view text, const std::string& name);

}  // namespace ditar
