// Which paths of a repository an experiment may edit. A pattern is a folder ("kernels/", all below
// it), a file ("config/engine.json"), or a glob ("topology/planner*": '*' and '?' match within one
// path component; a match that is a folder holds all below it). Immutable; share freely.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// True if `path` (relative, '/'-separated, as git names it) lies under `pattern`.
bool path_matches(std::string_view pattern, std::string_view path) noexcept;

/// Refuses what is no pattern: empty, absolute, "." or "..", empty component, backslash, control
/// character. @return the reason, empty if the pattern is good.
std::string pattern_fault(std::string_view pattern);

/// True if some path could match both.
bool patterns_overlap(std::string_view a, std::string_view b);

/// Mutable and fixed patterns; what neither names is fixed, and fixed wins.
class PathRules {
 public:
  PathRules() = default;
  PathRules(std::vector<std::string> fixed_paths, std::vector<std::string> mutable_paths);

  bool is_mutable(std::string_view path) const noexcept;
  const std::vector<std::string>& fixed_paths() const noexcept { return fixed_; }
  const std::vector<std::string>& mutable_paths() const noexcept { return mutable_; }

  /// Of `paths`, those that may not be edited, in order.
  std::vector<std::string> outside(const std::vector<std::string>& paths) const;
  /// Patterns (of either list) that match none of `paths`.
  std::vector<std::string> unmatched(const std::vector<std::string>& paths) const;

 private:
  std::vector<std::string> fixed_, mutable_;
};

}  // namespace ditar
