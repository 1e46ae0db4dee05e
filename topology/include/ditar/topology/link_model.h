// Cost of moving bytes: the alpha-beta form of copies and collectives, its fit from measurements,
// and a model where nothing was measured. Pure functions; thread-safe. Seconds, bytes, GB = 1e9.
#pragma once

#include "ditar/topology/graph.h"

#include <span>
#include <string>
#include <vector>

namespace ditar {

/// Bytes each rank sends for `collective` over `ranks` (ring): all_reduce 2(P-1)/P S, all_gather
/// and reduce_scatter (P-1)/P S (S = the whole), all_to_all (P-1)/P S (S = one rank's buffer),
/// send_recv S.
double wire_bytes(Collective collective, int ranks, double bytes);
/// How often the latency of one copy is paid: 2(P-1), P-1, P-1, P-1, 1.
int latency_steps(Collective collective, int ranks);

/// Seconds of `collective` over a link of cost `copy`: steps x alpha + wire bytes / bandwidth.
double collective_seconds(Collective collective, int ranks, double bytes, const LinkCost& copy);

/// What is known of `collective` over `group`: a fitted entry of the graph (whose latency is that
/// of the whole operation and whose bytes are wire bytes), else the slowest link of the group.
/// Over several links the worst latency and the least bandwidth count. @throws InvalidArgument if a
/// pair of the group has no link.
double group_seconds(const TopologyGraph& graph, Collective collective,
                     const std::vector<int>& group, double bytes);
/// kMeasured if every number group_seconds would use is measured.
Origin group_origin(const TopologyGraph& graph, Collective collective,
                    const std::vector<int>& group);

struct TimedTransfer {
  double bytes = 0.0, seconds = 0.0;
};
/// Least squares of the relative error of alpha + bytes / bandwidth; alpha >= 0. Marked measured,
/// with the root mean square relative error as residual.
/// @throws InvalidArgument for fewer than 3 points, fewer than 2 sizes, times <= 0, or times that
/// do not grow with size.
LinkCost fit_link(std::span<const TimedTransfer> points);

struct ModelledLink {
  LinkCost cost;
  std::string transport;  ///< "nvlink", "pcie peer", "host memory" or "network"
};
/// How NCCL would join the pair by default and what that usually gives: NVLink by count and board;
/// PCIe peer copies up to PXB, on AMD with two GPUs at any distance; else through host memory.
/// Declared or probed refusals of peer access are obeyed.
ModelledLink model_link(const TopologyGraph& graph, const Link& link);
/// Gives every link without a cost its model, marked modelled.
void fill_modelled_costs(TopologyGraph& graph);

/// The `count` GPUs whose slowest link is fastest (ties: least latency, lowest indices); MIG-cut
/// GPUs are left out. Links need costs. @throws InvalidArgument if there are too few.
std::vector<int> choose_gpus(const TopologyGraph& graph, int count);

}  // namespace ditar
