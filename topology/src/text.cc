#include "text.h"

#include "ditar/topology/smi_text.h"

#include <algorithm>
#include <cctype>

namespace ditar {
namespace text {

std::vector<std::string> lines(std::string_view text) { return split(text, '\n'); }

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : line) {
    if (c == ' ' || c == '\t') {
      if (!word.empty()) found.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) found.push_back(std::move(word));
  return found;
}

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> fields;
  while (true) {
    const std::size_t end = line.find(separator);
    fields.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view line) noexcept {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

bool is_number(std::string_view word) noexcept {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string quote(std::string_view line) {
  constexpr std::size_t kLongest = 60;
  std::string out(trim(line).substr(0, kLongest));
  for (char& c : out) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  }
  if (trim(line).size() > kLongest) out += "...";
  return '"' + out + '"';
}

}  // namespace text

namespace {

/// Length of a colour code at the start of `rest` whose ESC byte is gone ("[4m"), or 0.
std::size_t bare_code_length(std::string_view rest) noexcept {
  if (rest.size() < 3 || rest.front() != '[') return 0;
  std::size_t i = 1;
  while (i < rest.size() && (std::isdigit(static_cast<unsigned char>(rest[i])) || rest[i] == ';')) {
    ++i;
  }
  return i > 1 && i < rest.size() && rest[i] == 'm' ? i + 1 : 0;
}

}  // namespace

std::string strip_terminal_codes(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, 3) == kByteOrderMark) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      ++i;
      if (i < text.size() && text[i] == '[') {
        ++i;
        while (i < text.size() && (text[i] < '@' || text[i] > '~') && text[i] != '\n') ++i;
        if (i < text.size() && text[i] != '\n') ++i;
      }
      continue;
    }
    if (const std::size_t length = bare_code_length(text.substr(i))) {
      i += length;
      continue;
    }
    if (text[i] != '\r') out += text[i];
    ++i;
  }
  return out;
}

}  // namespace ditar
