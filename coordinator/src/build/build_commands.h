// Commands that a change would run while it is built. A build compiles; it runs nothing of a
// candidate's. Private to coordinator/src.
#pragma once

#include "ditar/coordinator/git_repository.h"

#include <string>
#include <vector>

namespace ditar {

/// One sentence for each CMake file of `changes` in which a command that runs or fetches something
/// stands more often than before. @throws DataError if a blob is missing.
std::vector<std::string> build_command_faults(const GitRepository& git,
                                              const std::vector<TreeChange>& changes);

}  // namespace ditar
