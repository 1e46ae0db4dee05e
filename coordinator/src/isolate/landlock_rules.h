// File rules by Landlock, for this process and its children for good; needs no privilege. Private
// to dit-isolate.
#pragma once

#include "isolate/fence_options.h"

namespace ditar::isolate {

/// Version of the kernel's Landlock; 0: there is none.
int landlock_version() noexcept;

/// Reading and running below the system's folders and `readable`, everything below `writable`, and
/// device files; nothing else. Where the kernel can, signals and abstract sockets end at the fence.
/// no_new_privs must be set. @throws IoError naming the rule refused.
void restrict_files(const FenceOptions& options);

}  // namespace ditar::isolate
