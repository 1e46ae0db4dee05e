// Parses and checks the JSON header of a .safetensors file. Pure; thread-safe.
#pragma once

#include "ditar/config/safetensors.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace ditar::detail {

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// `file` holds the whole file's bytes, `name` stands in messages. @throws DataError.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& name);

}  // namespace ditar::detail
