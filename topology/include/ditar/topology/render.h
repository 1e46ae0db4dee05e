// A graph for people and programs: a text table, JSON, a picture. Pure functions; thread-safe.
#pragma once

#include "ditar/topology/graph.h"

#include <string>

namespace ditar {

enum class TopologyFormat : std::uint8_t { kText, kJson, kSvg };

/// Text: a table of GPUs, the matrix of paths, measured and modelled costs (marked), notes.
/// JSON: to_topology_json. SVG: a stand-alone picture, thicker lines for faster links.
std::string render(const TopologyGraph& graph, TopologyFormat format);

}  // namespace ditar
