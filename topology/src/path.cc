#include "ditar/topology/path.h"

#include <array>
#include <charconv>
#include <utility>

namespace ditar {
namespace {

constexpr std::array<std::pair<std::string_view, PathType>, 8> kWords{{
    {"X", PathType::kSelf},
    {"PIX", PathType::kPix},
    {"PXB", PathType::kPxb},
    {"PHB", PathType::kPhb},
    {"NODE", PathType::kNode},
    {"SYS", PathType::kSys},
    {"SOC", PathType::kSys},
    {"NET", PathType::kNet},
}};

}  // namespace

std::string to_string(Path path) {
  if (path.type == PathType::kNvl) return "NV" + std::to_string(path.nvlinks);
  for (const auto& [word, type] : kWords) {
    if (type == path.type) return std::string(word);
  }
  return "?";
}

std::optional<Path> parse_path(std::string_view text) noexcept {
  for (const auto& [word, type] : kWords) {
    if (text == word) return Path{type, 0};
  }
  if (text.size() < 3 || text.size() > 4 || text.substr(0, 2) != "NV") return std::nullopt;
  const std::string_view digits = text.substr(2);
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1 ||
      digits.front() == '0') {
    return std::nullopt;
  }
  return Path{PathType::kNvl, count};
}

}  // namespace ditar
