#include "group_probe.h"

#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"
#include "exchange_timer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ditar {

namespace {

struct Probed {
  Collective collective;
  ExchangeOp op;
  bool blocks;  ///< a size is of all ranks' blocks
};
constexpr std::array kCollectives = {
    Probed{Collective::kAllReduce, ExchangeOp::kAllReduce, false},
    Probed{Collective::kAllGather, ExchangeOp::kAllGather, true},
    Probed{Collective::kReduceScatter, ExchangeOp::kReduceScatter, true},
    Probed{Collective::kAllToAll, ExchangeOp::kAllToAll, true}};

class GroupProbe {
 public:
  GroupProbe(Communicator& world, Device device, const std::vector<int>& gpus, TopologyGraph& graph,
             const GroupProbeOptions& options)
      : world_(world), device_(device), gpus_(gpus), graph_(graph), options_(options) {}

  bool run() {
    for (int a = 0; a < world_.size(); ++a) {
      for (int b = a + 1; b < world_.size(); ++b) probe_pair(a, b);
    }
    for (const Probed& probed : kCollectives) probe_collective(probed);
    return good_;
  }

  /// After a rank did not answer: `why` is its name.
  void give_up(const std::string& why) {
    if (Link* const link = trying_) {
      (world_.rank() == rank_of(link->a) ? link->b_to_a : link->a_to_b) = {
          PeerStatus::kUnknown, ProbeResult::kTimeout, why};
      link->cost.reset();
    }
    graph_.notes.push_back("the probe ended early: " + why);
  }

 private:
  int rank_of(int gpu) const {
    return static_cast<int>(std::find(gpus_.begin(), gpus_.end(), gpu) - gpus_.begin());
  }
  int gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }

  /// The slowest rank's time and all ranks' wrong elements; the same on every rank.
  ExchangeTime agree(const ExchangeTime& mine) {
    const std::array<double, 2> own{mine.seconds, static_cast<double>(mine.wrong)};
    std::vector<double> all(2 * static_cast<std::size_t>(world_.size()));
    world_.all_gather(own.data(), all.data(), 2, DType::kF64, {});
    ExchangeTime sum;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      sum.seconds = std::max(sum.seconds, all[i]);
      sum.wrong += static_cast<std::int64_t>(all[i + 1]);
    }
    return sum;
  }

  void probe_pair(int a, int b) {
    Link* const link = graph_.find_link(gpu(a), gpu(b));
    require(link != nullptr, "the topology has no link between GPU" + std::to_string(gpu(a)) +
                                 " and GPU" + std::to_string(gpu(b)));
    trying_ = link;
    const bool mine = world_.rank() == a || world_.rank() == b;
    const auto pair = world_.split(mine ? 0 : 1 + world_.rank(), world_.rank());
    std::vector<TimedTransfer> times;
    for (const std::int64_t bytes : options_.sizes_bytes) {
      ExchangeTime own;
      if (mine) own = time(*pair, ExchangeOp::kPingPong, bytes, DType::kU8);
      const ExchangeTime both = agree(own);
      if (both.wrong != 0) {
        refuse(*link, both.wrong, bytes);
        trying_ = nullptr;
        return;
      }
      times.push_back({static_cast<double>(bytes), both.seconds});
    }
    trying_ = nullptr;
    link->cost.reset();
    if (const auto cost =
            fit(times, "GPU" + std::to_string(gpu(a)) + "-GPU" + std::to_string(gpu(b)))) {
      link->cost = cost;
    }
  }

  void refuse(Link& link, std::int64_t wrong, std::int64_t bytes) {
    const PeerAccess bad{PeerStatus::kUnknown, ProbeResult::kCorrupt,
                         "an exchange of " + std::to_string(bytes) + " bytes arrived with " +
                             std::to_string(wrong) + " wrong bytes"};
    link.a_to_b = link.b_to_a = bad;
    link.cost.reset();
    good_ = false;
  }

  void probe_collective(const Probed& probed) {
    const int ranks = world_.size();
    std::vector<TimedTransfer> times;
    for (const std::int64_t bytes : options_.sizes_bytes) {
      const auto elements = std::max<std::int64_t>(1, bytes / 4 / (probed.blocks ? ranks : 1));
      const ExchangeTime all = agree(time(world_, probed.op, elements, DType::kF32));
      if (all.wrong != 0) {
        good_ = false;
        graph_.notes.push_back(std::string(to_string(probed.op)) + " of " + std::to_string(bytes) +
                               " bytes arrived with " + std::to_string(all.wrong) +
                               " wrong elements");
        return;
      }
      const auto size =
          static_cast<double>(size_of_exchange(probed.op, ranks, elements, DType::kF32));
      times.push_back({wire_bytes(probed.collective, ranks, size), all.seconds});
    }
    auto& known = graph_.collectives;
    std::erase_if(known, [&](const CollectiveCost& cost) {
      return cost.collective == probed.collective && cost.gpus == gpus_;
    });
    if (const auto cost = fit(times, std::string(to_string(probed.op)))) {
      known.push_back({probed.collective, gpus_, world_.kind(), *cost});
    }
  }

  ExchangeTime time(Communicator& group, ExchangeOp op, std::int64_t count, DType dtype) {
    return time_exchange(group, op, count, dtype, device_, options_.repeats, options_.deadline);
  }

  std::optional<LinkCost> fit(const std::vector<TimedTransfer>& times, const std::string& what) {
    try {
      return fit_link(times);
    } catch (const InvalidArgument& error) {
      graph_.notes.push_back("the times of " + what + " cannot be fitted: " + error.message());
      return std::nullopt;
    }
  }

  Communicator& world_;
  const Device device_;
  const std::vector<int>& gpus_;
  TopologyGraph& graph_;
  const GroupProbeOptions& options_;
  Link* trying_ = nullptr;
  bool good_ = true;
};

}  // namespace

TopologyGraph graph_of_ranks(const std::vector<std::string>& hosts) {
  TopologyGraph graph;
  graph.source = std::to_string(hosts.size()) + " ranks on CPUs";
  graph.notes.emplace_back("GPU n stands for rank n on a CPU: there is no GPU in this graph");
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    const auto same = [&](const Host& host) { return host.name == hosts[r]; };
    auto host = std::find_if(graph.hosts.begin(), graph.hosts.end(), same);
    if (host == graph.hosts.end()) {
      host = graph.hosts.insert(graph.hosts.end(), Host{hosts[r], "", ""});
    }
    Gpu rank;
    rank.index = static_cast<int>(r);
    rank.host = static_cast<int>(host - graph.hosts.begin());
    rank.name = "CPU";
    for (const Gpu& other : graph.gpus) {
      Link link;
      link.a = other.index;
      link.b = rank.index;
      link.path.type = other.host == rank.host ? PathType::kSys : PathType::kNet;
      graph.links.push_back(link);
    }
    graph.gpus.push_back(rank);
  }
  return graph;
}

bool probe_group(Communicator& world, Device device, const std::vector<int>& gpus,
                 TopologyGraph& graph, const GroupProbeOptions& options) {
  require(static_cast<int>(gpus.size()) == world.size(),
          "a probe needs one GPU for each of its " + std::to_string(world.size()) + " ranks");
  GroupProbe probe(world, device, gpus, graph, options);
  try {
    return probe.run();
  } catch (const TimeoutError& error) {
    probe.give_up(error.message());
    return false;
  }
}

}  // namespace ditar
