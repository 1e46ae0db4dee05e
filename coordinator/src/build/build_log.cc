// Finds what a person must mend in the log of a failed build.
#include "ditar/coordinator/candidate_build.h"

#include <cctype>
#include <sstream>
#include <string_view>

namespace ditar {
namespace {

std::string without_prefix(std::string text, const std::filesystem::path& source) {
  const std::string prefix = source.string() + "/";
  for (std::size_t at; !source.empty() && (at = text.find(prefix)) != std::string::npos;) {
    text.erase(at, prefix.size());
  }
  return text;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "file:12:5: error: text" -> "file:12: text"; nvcc's "file(12): error: text" likewise.
std::string compiler_error(const std::string& line) {
  std::size_t mark = line.find(": fatal error: "), length = 15;
  if (mark == std::string::npos) {
    mark = line.find(": error: ");
    length = 9;
  }
  if (mark == std::string::npos) return {};
  std::string place = line.substr(0, mark);
  if (!place.empty() && place.back() == ')') {
    if (const std::size_t open = place.rfind('('); open != std::string::npos) {
      place = place.substr(0, open) + ":" + place.substr(open + 1, place.size() - open - 2);
    }
  }
  const std::size_t last = place.rfind(':');
  const std::size_t before =
      last == std::string::npos || last == 0 ? last : place.rfind(':', last - 1);
  const bool has_column = before != std::string::npos && before + 1 < place.size() &&
                          std::isdigit(static_cast<unsigned char>(place[before + 1])) != 0;
  if (has_column) place.resize(last);
  return place + ": " + line.substr(mark + length);
}

// "CMake Error at file:12 (command):" with its text on the next lines.
std::string cmake_error(const std::string& line, std::istringstream& rest) {
  const std::string head = "CMake Error";
  if (line.rfind(head, 0) != 0) return {};
  std::string place = trimmed(line.substr(head.size()));
  if (place.rfind("at ", 0) == 0) place = place.substr(3);
  place = place.substr(0, place.find(" ("));
  while (!place.empty() && place.back() == ':') place.pop_back();
  std::string text;
  while (trimmed(text).empty() && std::getline(rest, text)) {
  }
  return (place.empty() ? "CMake" : place) + ": " + trimmed(text);
}

}  // namespace

std::string first_build_error(const std::string& log_text, const std::filesystem::path& source) {
  std::istringstream lines(log_text);
  std::string line, fallback;
  while (std::getline(lines, line)) {
    std::string found = cmake_error(line, lines);
    if (found.empty() && line.find("collect2: error: ") == std::string::npos) {
      found = compiler_error(line);
    }
    if (found.empty() && (line.find("undefined reference to") != std::string::npos ||
                          line.find("multiple definition of") != std::string::npos)) {
      found = trimmed(line);
    }
    if (!found.empty()) return without_prefix(found, source);
    if (fallback.empty() &&
        (line.find("error") != std::string::npos || line.rfind("FAILED", 0) == 0)) {
      fallback = trimmed(line);
    }
  }
  return without_prefix(fallback, source);
}

}  // namespace ditar
