#include "ditar/topology/graph.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace ditar {
namespace {

template <typename T, std::size_t N>
using Words = std::array<std::pair<T, std::string_view>, N>;

constexpr Words<Origin, 3> kOrigins{{{Origin::kUnknown, "unknown"},
                                     {Origin::kModelled, "modelled"},
                                     {Origin::kMeasured, "measured"}}};
constexpr Words<PeerStatus, 7> kPeerStatuses{
    {{PeerStatus::kUnknown, "unknown"},
     {PeerStatus::kOk, "ok"},
     {PeerStatus::kChipsetNotSupported, "chipset not supported"},
     {PeerStatus::kGpuNotSupported, "GPU not supported"},
     {PeerStatus::kTopologyNotSupported, "topology not supported"},
     {PeerStatus::kDisabledByRegkey, "disabled by regkey"},
     {PeerStatus::kNotSupported, "not supported"}}};
constexpr Words<ProbeResult, 5> kProbeResults{{{ProbeResult::kNotProbed, "not probed"},
                                               {ProbeResult::kOk, "ok"},
                                               {ProbeResult::kTimeout, "timeout"},
                                               {ProbeResult::kCorrupt, "corrupt"},
                                               {ProbeResult::kFailed, "failed"}}};
constexpr Words<Collective, 5> kCollectives{{{Collective::kAllReduce, "all_reduce"},
                                             {Collective::kAllGather, "all_gather"},
                                             {Collective::kReduceScatter, "reduce_scatter"},
                                             {Collective::kAllToAll, "all_to_all"},
                                             {Collective::kPointToPoint, "send_recv"}}};

template <typename T, std::size_t N>
std::string_view word_of(const Words<T, N>& words, T value) noexcept {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return "?";
}

template <typename T, std::size_t N>
std::optional<T> value_of(const Words<T, N>& words, std::string_view text) noexcept {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

void check_cost(const LinkCost& cost, const std::string& place) {
  const bool good = std::isfinite(cost.alpha_us) && cost.alpha_us >= 0.0 &&
                    std::isfinite(cost.bandwidth_gb_per_s) && cost.bandwidth_gb_per_s > 0.0 &&
                    std::isfinite(cost.residual) && cost.residual >= 0.0;
  if (!good) {
    throw DataError(place + ": latency must be >= 0 us, bandwidth > 0 GB/s and residual >= 0");
  }
}

void check_gpus(const TopologyGraph& graph) {
  std::set<int> indices;
  std::set<std::string> uuids;
  for (const Gpu& gpu : graph.gpus) {
    const std::string place = "GPU " + std::to_string(gpu.index);
    if (gpu.index < 0) throw DataError(place + ": the index is negative");
    if (!indices.insert(gpu.index).second) throw DataError(place + ": the index appears twice");
    if (!gpu.uuid.empty() && !uuids.insert(gpu.uuid).second) {
      throw DataError(place + ": UUID " + gpu.uuid + " appears twice");
    }
    if (gpu.host < 0 || static_cast<std::size_t>(gpu.host) >= graph.hosts.size()) {
      throw DataError(place + ": host " + std::to_string(gpu.host) + " is not among the " +
                      std::to_string(graph.hosts.size()) + " hosts");
    }
    if (gpu.memory_bytes && *gpu.memory_bytes <= 0) {
      throw DataError(place + ": memory must be > 0 bytes");
    }
  }
}

void check_links(const TopologyGraph& graph) {
  std::set<std::pair<int, int>> pairs;
  for (const Link& link : graph.links) {
    const std::string place = "link GPU" + std::to_string(link.a) + "-GPU" + std::to_string(link.b);
    if (link.a >= link.b) throw DataError(place + ": the lower index must come first");
    if (!graph.find_gpu(link.a) || !graph.find_gpu(link.b)) {
      throw DataError(place + ": one end is not among the GPUs");
    }
    if (!pairs.insert({link.a, link.b}).second) throw DataError(place + ": the pair appears twice");
    if (link.path.type == PathType::kSelf) throw DataError(place + ": a pair cannot be X");
    if (link.cost) check_cost(*link.cost, place);
  }
}

}  // namespace

std::string_view to_string(Origin origin) noexcept { return word_of(kOrigins, origin); }
std::string_view to_string(PeerStatus status) noexcept { return word_of(kPeerStatuses, status); }
std::string_view to_string(ProbeResult result) noexcept { return word_of(kProbeResults, result); }
std::string_view to_string(Collective collective) noexcept {
  return word_of(kCollectives, collective);
}
std::optional<Origin> parse_origin(std::string_view text) noexcept {
  return value_of(kOrigins, text);
}
std::optional<PeerStatus> parse_peer_status(std::string_view text) noexcept {
  return value_of(kPeerStatuses, text);
}
std::optional<ProbeResult> parse_probe_result(std::string_view text) noexcept {
  return value_of(kProbeResults, text);
}
std::optional<Collective> parse_collective(std::string_view text) noexcept {
  return value_of(kCollectives, text);
}

bool PeerAccess::proven() const noexcept { return probed == ProbeResult::kOk && !refused(); }

bool PeerAccess::refused() const noexcept {
  const bool declared_bad = declared != PeerStatus::kUnknown && declared != PeerStatus::kOk;
  const bool probed_bad = probed != ProbeResult::kNotProbed && probed != ProbeResult::kOk;
  return declared_bad || probed_bad;
}

const Gpu* TopologyGraph::find_gpu(int index) const noexcept {
  for (const Gpu& gpu : gpus) {
    if (gpu.index == index) return &gpu;
  }
  return nullptr;
}

const Link* TopologyGraph::find_link(int a, int b) const noexcept {
  const auto [low, high] = std::minmax(a, b);
  for (const Link& link : links) {
    if (link.a == low && link.b == high) return &link;
  }
  return nullptr;
}

Link* TopologyGraph::find_link(int a, int b) noexcept {
  return const_cast<Link*>(std::as_const(*this).find_link(a, b));
}

const CollectiveCost* TopologyGraph::find_collective(Collective collective,
                                                     const std::vector<int>& group) const noexcept {
  for (const CollectiveCost& entry : collectives) {
    if (entry.collective == collective &&
        std::is_permutation(entry.gpus.begin(), entry.gpus.end(), group.begin(), group.end())) {
      return &entry;
    }
  }
  return nullptr;
}

void TopologyGraph::validate() const {
  check_gpus(*this);
  check_links(*this);
  for (const CollectiveCost& entry : collectives) {
    const std::string place = "collective " + std::string(to_string(entry.collective));
    for (const int index : entry.gpus) {
      if (!find_gpu(index)) {
        throw DataError(place + ": GPU " + std::to_string(index) + " is not among the GPUs");
      }
    }
    if (std::set<int>(entry.gpus.begin(), entry.gpus.end()).size() != entry.gpus.size() ||
        entry.gpus.size() < 2) {
      throw DataError(place + ": a group needs two or more different GPUs");
    }
    check_cost(entry.cost, place);
  }
}

}  // namespace ditar
