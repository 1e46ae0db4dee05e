#include "report/cells.h"

#include <cstdio>

namespace ditar {

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += ' ';
    } else {
      out += c == '"' ? '\'' : c;
    }
  }
  return out;
}

std::string shortened(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string figure_text(const std::optional<double>& value) {
  if (!value) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", *value);
  return text;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace ditar
