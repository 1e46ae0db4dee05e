// Writes a git tree to a folder byte for byte as stored (no filter, no line-ending change). One
// caller per folder at a time.
#pragma once

#include "ditar/coordinator/git_repository.h"

#include <filesystem>
#include <string>

namespace ditar {

struct ExportResult {
  int written = 0, kept = 0, removed = 0;  ///< files
};

/// Makes `directory` hold exactly the tree. A file that already has the right bytes and mode keeps
/// its modification time; all others are rewritten, and what is not in the tree is removed.
/// @throws DataError naming the path for a symlink, submodule or odd name in the tree;
/// IoError if a file cannot be written.
ExportResult sync_tree(const GitRepository& git, const std::string& tree,
                       const std::filesystem::path& directory);

}  // namespace ditar
