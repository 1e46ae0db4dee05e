// Namespaces of the fence. Each call changes the calling process for good. Private to dit-isolate.
#pragma once

#include "isolate/layers.h"

namespace ditar::isolate {

/// Moves this process into the wanted namespaces, keeping its user and group ids; with pid, the
/// next child is the first process of the new one. Brings up the loopback of a new network.
/// @throws IoError naming the step that the system refused.
void enter_namespaces(const Layers& layers);

}  // namespace ditar::isolate
