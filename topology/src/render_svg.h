// The picture of a graph. Pure function; thread-safe.
#pragma once

#include "ditar/topology/graph.h"

#include <string>

namespace ditar {

std::string render_svg(const TopologyGraph& graph);

}  // namespace ditar
