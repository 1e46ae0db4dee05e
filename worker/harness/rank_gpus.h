// Which GPUs of a topology the ranks of work by hand have, and what its refusals mean for NCCL.
#pragma once

#include "bench_group.h"
#include "ditar/topology/graph.h"

#include <string>
#include <vector>

namespace ditar {

/// Indices in `graph` by rank, found by UUID; `device` is this rank's. Collective.
/// @throws InvalidArgument naming a UUID that the graph does not have.
std::vector<int> rank_gpus(BenchGroup& group, const TopologyGraph& graph,
                           const std::string& device);

/// Turns NCCL's peer access off for this process where `graph` refuses it between `gpus`, and logs
/// the reason. Before the first communicator of NCCL.
void keep_off_refused_peers(const TopologyGraph& graph, const std::vector<int>& gpus);

}  // namespace ditar
