// Measures what the ranks of a group pay for moving bytes, pair by pair and collective by
// collective, through the communicator that the splits use. All data is looked at. Collective;
// blocks for at most the deadline once a rank does not answer.
#pragma once

#include "ditar/kernels/device.h"
#include "ditar/parallel/communicator.h"
#include "ditar/topology/graph.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

struct GroupProbeOptions {
  std::vector<std::int64_t> sizes_bytes{64,      1024,      16'384,    65'536,
                                        262'144, 1'048'576, 4'194'304, 16'777'216};
  int repeats = 10;
  std::chrono::milliseconds deadline{3000};
};

/// Graph of ranks that are processes or threads on CPUs; `hosts`: each rank's host name.
TopologyGraph graph_of_ranks(const std::vector<std::string>& hosts);

/// Rank r drives GPU `gpus[r]` of `graph`, which must have all their links. Sets each pair's cost
/// (a ping-pong) and the costs of all_reduce, all_gather, reduce_scatter and all_to_all over the
/// whole group. A pair whose data is wrong is refused with the reason and has no cost. A rank that
/// does not answer in time refuses the pair that was tried; nothing is measured after it, and
/// notes say so: the graph is then this rank's own.
/// @return whether every rank answered and all data was right.
bool probe_group(Communicator& world, Device device, const std::vector<int>& gpus,
                 TopologyGraph& graph, const GroupProbeOptions& options = {});

}  // namespace ditar
