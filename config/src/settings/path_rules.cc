#include "ditar/config/path_rules.h"

#include <algorithm>

namespace ditar {
namespace {

// '*' and '?' within one component.
bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Takes the first component off `rest`.
std::string_view take_part(std::string_view& rest) noexcept {
  const std::size_t slash = rest.find('/');
  const std::string_view part = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  return part;
}

// Could one text match both component globs? Exact by dynamic programming over both.
bool globs_meet(std::string_view a, std::string_view b) {
  if (a.empty() && b.empty()) return true;
  if (!a.empty() && a.front() == '*') {
    return globs_meet(a.substr(1), b) || (!b.empty() && globs_meet(a, b.substr(1)));
  }
  if (!b.empty() && b.front() == '*') return globs_meet(b, a);
  if (a.empty() || b.empty()) return false;
  const bool same = a.front() == b.front() || a.front() == '?' || b.front() == '?';
  return same && globs_meet(a.substr(1), b.substr(1));
}

}  // namespace

bool path_matches(std::string_view pattern, std::string_view path) noexcept {
  const bool folder = !pattern.empty() && pattern.back() == '/';
  if (folder) pattern.remove_suffix(1);
  while (!pattern.empty()) {
    if (path.empty()) return false;
    const std::string_view glob = take_part(pattern);
    if (!glob_matches(glob, take_part(path))) return false;
  }
  return !folder || !path.empty();
}

std::string pattern_fault(std::string_view pattern) {
  if (pattern.empty()) return "is empty";
  if (pattern.front() == '/') return "is absolute; write it relative to the repository root";
  if (pattern.find('\\') != std::string_view::npos) return "holds a backslash; use '/'";
  for (const char c : pattern) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "holds a control character";
  }
  std::string_view rest = pattern;
  if (rest.back() == '/') rest.remove_suffix(1);
  if (rest.empty()) return "is empty";
  if (rest.back() == '/') return "has an empty part";
  while (!rest.empty()) {
    const std::string_view part = take_part(rest);
    if (part.empty()) return "has an empty part";
    if (part == "." || part == "..") return "has a \".\" or \"..\" part; name the path itself";
    if (part.find("**") != std::string_view::npos) {
      return "holds \"**\"; end it with '/' to take all below a folder";
    }
  }
  return {};
}

bool patterns_overlap(std::string_view a, std::string_view b) {
  const bool folder_a = !a.empty() && a.back() == '/';
  const bool folder_b = !b.empty() && b.back() == '/';
  if (folder_a) a.remove_suffix(1);
  if (folder_b) b.remove_suffix(1);
  while (!a.empty() && !b.empty()) {
    const std::string_view part_a = take_part(a);
    if (!globs_meet(part_a, take_part(b))) return false;
  }
  return true;  // one is the other's folder, or both end together
}

PathRules::PathRules(std::vector<std::string> fixed_paths, std::vector<std::string> mutable_paths)
    : fixed_(std::move(fixed_paths)), mutable_(std::move(mutable_paths)) {}

bool PathRules::is_mutable(std::string_view path) const noexcept {
  const auto matches = [path](const std::string& pattern) { return path_matches(pattern, path); };
  return std::none_of(fixed_.begin(), fixed_.end(), matches) &&
         std::any_of(mutable_.begin(), mutable_.end(), matches);
}

std::vector<std::string> PathRules::outside(const std::vector<std::string>& paths) const {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (!is_mutable(path)) found.push_back(path);
  }
  return found;
}

std::vector<std::string> PathRules::unmatched(const std::vector<std::string>& paths) const {
  std::vector<std::string> found;
  for (const auto* list : {&fixed_, &mutable_}) {
    for (const std::string& pattern : *list) {
      if (std::none_of(paths.begin(), paths.end(),
                       [&](const std::string& path) { return path_matches(pattern, path); })) {
        found.push_back(pattern);
      }
    }
  }
  return found;
}

}  // namespace ditar
