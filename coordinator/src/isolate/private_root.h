// A root folder of its own for a mount namespace: a small tmpfs, allow-listed paths bound into it
// under their own names, fresh /tmp, /dev and /proc. Two steps, because /proc belongs to the pid
// namespace and can only be mounted from inside. Private to dit-isolate.
#pragma once

#include "isolate/fence_options.h"

namespace ditar::isolate {

/// Folders of the system that every program needs, read-only; those that exist.
std::vector<std::string> system_folders();

/// Builds the root and makes it this process's. @throws IoError naming the path refused.
void enter_private_root(const FenceOptions& options);
/// Mounts /proc (of a new pid namespace, else the old one's, read-only) and closes the root.
void finish_private_root(const Layers& layers);

}  // namespace ditar::isolate
