// How git is called: absolute path, no shell, an environment of its own. Internal.
#pragma once

#include "ditar/coordinator/subprocess.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

/// A call of plumbing with hooks, filters, fsmonitor, replace refs, external diffs, lazy fetches
/// and all configuration but the repository's own switched off, and what is dangerous in that
/// overridden.
/// @param root work tree; @param git_dir its git directory, both absolute.
ProcessSpec git_command(const std::filesystem::path& git, const std::filesystem::path& root,
                        const std::filesystem::path& git_dir, std::vector<std::string> arguments);

}  // namespace ditar
