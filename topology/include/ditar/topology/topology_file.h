// Saved graphs: strict JSON that round-trips, and one reader for every kind of input text. Pure
// functions apart from load_topology, which reads one file. Thread-safe.
#pragma once

#include "ditar/topology/graph.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ditar {

/// Pretty JSON, `{"schema": 1, "gpus": [{"index", "uuid", "pci", ...}], "links": [{"a", "b",
/// "path", ...}], ...}`; unknown values are null. from_topology_json(to_topology_json(g)) == g.
std::string to_topology_json(const TopologyGraph& graph);

/// @throws DataError naming the place ("links[0].path") for an unknown key, a missing one, a wrong
/// type, an unknown word or a graph that does not validate.
TopologyGraph from_topology_json(std::string_view text);

/// Reads JSON, `topo -m`, `-L` or `nvlink -s` by what the text is. @throws DataError.
TopologyGraph read_topology(std::string_view text);

/// read_topology of a file; the error starts with the file's name. @throws IoError, DataError.
TopologyGraph load_topology(const std::filesystem::path& path);

}  // namespace ditar
