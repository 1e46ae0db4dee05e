// Parsers of git's NUL-separated plumbing output. Pure. Internal.
#pragma once

#include "ditar/coordinator/git_repository.h"

#include <string>
#include <string_view>
#include <vector>

namespace ditar {

std::vector<std::string_view> split(std::string_view text, char separator);
/// `ls-tree -r -z`.
std::vector<TreeEntry> parse_tree(std::string_view text);
/// `diff-tree -r -z --raw --no-renames`.
std::vector<TreeChange> parse_changes(std::string_view text);

}  // namespace ditar
