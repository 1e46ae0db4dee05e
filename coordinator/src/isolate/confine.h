// The last steps of the command's own process. Private to dit-isolate.
#pragma once

#include "isolate/fence_options.h"

namespace ditar::isolate {

/// Limits, no new privileges, no capabilities, Landlock, the filter of system calls, then the
/// command. Does not return. @throws IoError naming the step refused.
[[noreturn]] void confine_and_run(const FenceOptions& options);

}  // namespace ditar::isolate
