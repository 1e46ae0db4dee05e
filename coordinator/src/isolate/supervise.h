// The processes of a fence: this one outside, a first process inside that reaps, and the command.
// Signals go inwards, the command's end comes out. If the outer one dies, so does all inside it.
// Private to dit-isolate.
#pragma once

#include "isolate/fence_options.h"

namespace ditar::isolate {

/// How the command ended, as wait() tells. Everything that it started is gone then.
/// @throws IoError naming the layer that could not be reached; nothing runs then.
int run_fenced(const FenceOptions& options);

}  // namespace ditar::isolate
