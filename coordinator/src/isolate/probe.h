// Finds out which layers this machine gives, by building them. Private to dit-isolate.
#pragma once

#include "isolate/layers.h"

namespace ditar::isolate {

/// The most of the layers that a process can reach here. Blocks for some milliseconds.
Layers reachable_layers();

}  // namespace ditar::isolate
