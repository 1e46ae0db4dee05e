#include "git/git_parse.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cctype>

namespace ditar {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::vector<TreeEntry> parse_tree(std::string_view text) {
  std::vector<TreeEntry> entries;
  for (const std::string_view line : split(text, '\0')) {
    const std::size_t tab = line.find('\t');
    const std::vector<std::string_view> words = split(line.substr(0, tab), ' ');
    if (tab == std::string_view::npos || words.size() != 3) {
      throw DataError("git ls-tree gave a line that cannot be read: " + std::string(line));
    }
    entries.push_back(
        {std::string(words[0]), std::string(words[2]), std::string(line.substr(tab + 1))});
  }
  return entries;
}

std::vector<TreeChange> parse_changes(std::string_view text) {
  std::vector<TreeChange> changes;
  const std::vector<std::string_view> parts = split(text, '\0');
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const std::vector<std::string_view> words = split(parts[i], ' ');
    if (words.size() != 5 || words[0].empty() || words[0][0] != ':' || words[4].empty()) {
      throw DataError("git diff-tree gave a line that cannot be read: " + std::string(parts[i]));
    }
    TreeChange change;
    change.kind = words[4][0];
    change.old_mode = words[0].substr(1);
    change.new_mode = words[1];
    change.old_object = words[2];
    change.new_object = words[3];
    change.path = parts[i + 1];
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string path_name_fault(std::string_view path) {
  if (path.empty() || path.front() == '/') return "is not relative";
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "holds a control character";
    if (c == '\\') return "holds a backslash";
  }
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return "has an empty, \".\" or \"..\" part";
    if (part.size() > 255) return "has a part of more than 255 bytes";
    std::string lower(part);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == ".git" || lower == ".autoresearch") return "has a part named " + lower;
  }
  return path.back() == '/' ? "ends with '/'" : std::string();
}

std::vector<std::string> change_faults(const std::vector<TreeChange>& changes,
                                       const PathRules& rules) {
  std::vector<std::string> faults;
  for (const TreeChange& change : changes) {
    const std::string path = "\"" + change.path + "\"";
    if (const std::string fault = path_name_fault(change.path); !fault.empty()) {
      faults.push_back(path + " " + fault);
    } else if (change.new_mode == "120000") {
      faults.push_back(path + " is a symbolic link; commit the file itself");
    } else if (change.new_mode == "160000") {
      faults.push_back(path + " is a submodule; commit the files themselves");
    } else if (change.path.substr(change.path.rfind('/') + 1).starts_with(".git")) {
      faults.push_back(path + " is a file that git itself obeys");
    } else if (!rules.is_mutable(change.path)) {
      faults.push_back(path + " is outside mutable_paths");
    }
  }
  return faults;
}

}  // namespace ditar
