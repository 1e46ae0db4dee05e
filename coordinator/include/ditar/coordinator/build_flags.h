// Which compiler flags a build used, and how two builds differ: part of the audit of a change's
// class (K5). A candidate may edit its CMake files; what it changes by that is shown beside its
// verdict.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ditar {

/// Source file (relative to the tree) to the flags of its compile line, without paths and names.
using BuildFlags = std::map<std::string, std::set<std::string>>;

/// From the text of a compile_commands.json; `source` and `build` are cut from the flags. An empty
/// or damaged text gives no entry.
BuildFlags build_flags(const std::string& compile_commands, const std::string& source,
                       const std::string& build);

/// "+-ffast-math in kernels/a.cc and 3 others", one per flag that came (+) or went (-). Files of
/// one side alone do not count.
std::vector<std::string> flag_differences(const BuildFlags& before, const BuildFlags& after);

/// As kept beside a binary: one line per flag, "file<TAB>flag". Inverse of each other.
std::string to_text(const BuildFlags& flags);
BuildFlags build_flags_from(const std::string& text);

}  // namespace ditar
