#include "ditar/topology/link_model.h"

#include "ditar/config/error.h"
#include "ditar/topology/device_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ditar {
namespace {

// Usable GB/s of one direction and small-message latency. NVLink: an RTX A6000 pair reported at
// 52.2 GB/s and 7 us. PCIe 4.0 x16 peer copies: 22-27 GB/s, 5-10 us reported; staged through host
// memory: 8-11 GB/s, 15-20 us. Network: an assumed 100 Gbit/s fabric.
constexpr double kNvlinkAlpha = 7.0, kPeerAlpha = 7.0, kHostAlpha = 17.0, kNetworkAlpha = 30.0;
constexpr double kOldNvlinkPerLink = 12.0;  // boards without a model of their own
constexpr double kPeerGen4x16 = 24.0, kHostBandwidth = 9.5, kNetworkBandwidth = 10.0;

/// Share of a PCIe 4.0 x16 link that the pair's slower slot has at its best; 1 if unknown.
double pcie_share(const TopologyGraph& graph, const Link& link) {
  double share = 1.0;
  for (const int index : {link.a, link.b}) {
    const Gpu* gpu = graph.find_gpu(index);
    if (!gpu || !gpu->pcie.gen_best || !gpu->pcie.width_best || *gpu->pcie.width_best == 0) {
      continue;
    }
    share = std::min(share, std::ldexp(*gpu->pcie.width_best / 16.0, *gpu->pcie.gen_best - 4));
  }
  return share;
}

double nvlink_speed(const TopologyGraph& graph, const Link& link) {
  double per_link = 0.0;
  for (const int index : {link.a, link.b}) {
    const Gpu* gpu = graph.find_gpu(index);
    const DeviceModel* model = gpu ? find_device_model(gpu->name) : nullptr;
    const double own =
        model && model->links_best > 0 ? model->gb_per_s_per_link : kOldNvlinkPerLink;
    per_link = per_link == 0.0 ? own : std::min(per_link, own);
  }
  return per_link * link.path.nvlinks;
}

bool peer_by_default(const TopologyGraph& graph, const Link& link) {
  if (link.a_to_b.refused() || link.b_to_a.refused()) return false;
  if (link.a_to_b.proven() && link.b_to_a.proven()) return true;
  const Gpu* gpu = graph.find_gpu(link.a);
  const Host* host = gpu && static_cast<std::size_t>(gpu->host) < graph.hosts.size()
                         ? &graph.hosts[static_cast<std::size_t>(gpu->host)]
                         : nullptr;
  const bool small_amd = host && host->cpu_vendor == "amd" && graph.gpus.size() <= 2;
  return link.path.type <= PathType::kPxb || small_amd;
}

bool next_combination(std::vector<std::size_t>& pick, std::size_t total) {
  const std::size_t count = pick.size();
  for (std::size_t i = count; i-- > 0;) {
    if (pick[i] + (count - i) < total) {
      ++pick[i];
      for (std::size_t j = i + 1; j < count; ++j) pick[j] = pick[j - 1] + 1;
      return true;
    }
  }
  return false;
}

/// (bandwidth of the slowest link, -latency of the slowest): larger is better.
std::tuple<double, double> quality(const TopologyGraph& graph, const std::vector<int>& group) {
  double bandwidth = 1e30, alpha = 0.0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      const Link* link = graph.find_link(group[i], group[j]);
      if (!link || !link->cost) return {0.0, 0.0};
      bandwidth = std::min(bandwidth, link->cost->bandwidth_gb_per_s);
      alpha = std::max(alpha, link->cost->alpha_us);
    }
  }
  return {bandwidth, -alpha};
}

}  // namespace

ModelledLink model_link(const TopologyGraph& graph, const Link& link) {
  const double share = pcie_share(graph, link);
  if (link.path.type == PathType::kNet) {
    return {{kNetworkAlpha, kNetworkBandwidth, 0.0, Origin::kModelled}, "network"};
  }
  const bool refused = link.a_to_b.refused() || link.b_to_a.refused();
  if (link.path.type == PathType::kNvl && !refused) {
    return {{kNvlinkAlpha, nvlink_speed(graph, link), 0.0, Origin::kModelled}, "nvlink"};
  }
  if (peer_by_default(graph, link)) {
    return {{kPeerAlpha, kPeerGen4x16 * share, 0.0, Origin::kModelled}, "pcie peer"};
  }
  return {{kHostAlpha, kHostBandwidth * std::min(1.0, share), 0.0, Origin::kModelled},
          "host memory"};
}

void fill_modelled_costs(TopologyGraph& graph) {
  for (Link& link : graph.links) {
    if (!link.cost) link.cost = model_link(graph, link).cost;
  }
}

std::vector<int> choose_gpus(const TopologyGraph& graph, int count) {
  std::vector<int> usable;
  for (const Gpu& gpu : graph.gpus) {
    if (!gpu.mig) usable.push_back(gpu.index);
  }
  std::sort(usable.begin(), usable.end());
  require(count >= 1 && static_cast<std::size_t>(count) <= usable.size(),
          std::to_string(count) + " GPUs are asked for, " + std::to_string(usable.size()) +
              " usable ones are there (MIG-partitioned GPUs do not count)");
  std::vector<std::size_t> pick(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < pick.size(); ++i) pick[i] = i;
  std::vector<int> best;
  std::tuple<double, double> best_quality{-1.0, 0.0};
  do {
    std::vector<int> group;
    for (const std::size_t i : pick) group.push_back(usable[i]);
    const auto now = quality(graph, group);
    if (best.empty() || now > best_quality) {
      best = group;
      best_quality = now;
    }
  } while (next_combination(pick, usable.size()));
  return best;
}

}  // namespace ditar
