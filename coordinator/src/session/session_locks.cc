// The locked part of a commit: everything that an experiment may not edit.
#include "ditar/coordinator/session.h"

#include <algorithm>
#include <set>

namespace ditar {

std::map<std::string, std::string> fixed_objects(const GitRepository& git,
                                                 const std::string& commit,
                                                 const PathRules& rules) {
  const std::vector<TreeEntry> entries = git.list_tree(git.tree_of(commit));
  std::set<std::string> mixed;  // top-level folders that hold something mutable
  for (const TreeEntry& entry : entries) {
    if (rules.is_mutable(entry.path)) mixed.insert(entry.path.substr(0, entry.path.find('/')));
  }
  for (const std::string& pattern : rules.mutable_paths()) {
    mixed.insert(pattern.substr(0, pattern.find('/')));
  }
  std::map<std::string, std::string> locked;
  for (const TreeEntry& entry : entries) {
    const std::string top = entry.path.substr(0, entry.path.find('/'));
    if (mixed.count(top) == 0) {
      if (locked.count(top) == 0) locked[top] = git.object_at(commit, top);
    } else if (!rules.is_mutable(entry.path)) {
      locked[entry.path] = entry.mode + " " + entry.object;
    }
  }
  return locked;
}

std::vector<std::string> lock_faults(const GitRepository& git, const std::string& commit,
                                     const PathRules& rules,
                                     const std::map<std::string, std::string>& locks) {
  const std::map<std::string, std::string> now = fixed_objects(git, commit, rules);
  std::set<std::string> faults;
  for (const auto& [path, object] : locks) {
    const auto found = now.find(path);
    if (found == now.end() || found->second != object) faults.insert(path);
  }
  for (const auto& [path, object] : now) {
    if (locks.count(path) == 0) faults.insert(path);
  }
  return {faults.begin(), faults.end()};
}

}  // namespace ditar
