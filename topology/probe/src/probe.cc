#include "ditar/topology_probe/probe.h"

#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"

#include <algorithm>

namespace ditar {
namespace {

class DirectionProbe {
 public:
  DirectionProbe(PeerCopier& copier, const ProbeOptions& options)
      : copier_(copier), options_(options) {}

  /// Sets `access`; true if the direction is good, with its times in `times`.
  bool run(const std::string& from, const std::string& to, PeerAccess& access,
           std::vector<TimedTransfer>& times) {
    for (const std::size_t bytes : options_.sizes) {
      double least = 0.0;
      for (int repeat = 0; repeat <= options_.repeats; ++repeat) {
        const bool odd = repeat == options_.repeats;  // the last copy is unaligned and not timed
        const auto report = copier_.copy(from, to, bytes, odd ? options_.odd_offset : 0, ++seed_,
                                         options_.deadline);
        if (!judge(report, bytes, access)) return false;
        if (!odd && (repeat == 0 || report.seconds < least)) least = report.seconds;
      }
      if (least > 0.0) times.push_back({static_cast<double>(bytes), least});
    }
    access.probed = ProbeResult::kOk;
    access.reason.clear();
    return true;
  }

 private:
  bool judge(const CopyReport& report, std::size_t bytes, PeerAccess& access) const {
    const std::string size = std::to_string(bytes) + " bytes";
    switch (report.state) {
      case CopyState::kTimeout:
        access.probed = ProbeResult::kTimeout;
        access.reason = "a copy of " + size + " did not arrive within " +
                        std::to_string(options_.deadline.count()) + " ms";
        return false;
      case CopyState::kFailed:
        access.probed = ProbeResult::kFailed;
        access.reason = "a copy of " + size + " failed: " + report.detail;
        return false;
      case CopyState::kArrived:
        break;
    }
    if (!report.first_bad_offset) return true;
    access.probed = ProbeResult::kCorrupt;
    access.reason = "a copy of " + size + " arrived with wrong data, first at byte " +
                    std::to_string(*report.first_bad_offset);
    return false;
  }

  PeerCopier& copier_;
  const ProbeOptions& options_;
  std::uint32_t seed_ = 0;
};

bool reaches(const std::vector<std::string>& devices, const Gpu* gpu) {
  return gpu && !gpu->uuid.empty() &&
         std::find(devices.begin(), devices.end(), gpu->uuid) != devices.end();
}

std::optional<LinkCost> slower_fit(const std::vector<TimedTransfer>& forth,
                                   const std::vector<TimedTransfer>& back,
                                   std::vector<std::string>& notes) {
  try {
    const LinkCost a = fit_link(forth);
    const LinkCost b = fit_link(back);
    return a.bandwidth_gb_per_s <= b.bandwidth_gb_per_s ? a : b;
  } catch (const InvalidArgument& error) {
    notes.push_back("the probe's times cannot be fitted: " + error.message());
    return std::nullopt;
  }
}

}  // namespace

void probe_peers(PeerCopier& copier, TopologyGraph& graph, const ProbeOptions& options) {
  require(options.sizes.size() >= 3, "a probe needs at least 3 sizes");
  require(options.repeats >= 1, "a probe needs at least one timed copy per size");
  const auto devices = copier.devices();
  DirectionProbe probe(copier, options);
  std::string stuck;
  for (Link& link : graph.links) {
    const Gpu* a = graph.find_gpu(link.a);
    const Gpu* b = graph.find_gpu(link.b);
    if (!reaches(devices, a) || !reaches(devices, b)) continue;
    std::vector<TimedTransfer> forth, back;
    const auto one_way = [&](const Gpu& from, const Gpu& to, PeerAccess& access,
                             std::vector<TimedTransfer>& times) {
      access.probed = ProbeResult::kNotProbed;
      if (access.refused()) return false;
      if (!stuck.empty()) {
        access.reason = "not probed: " + stuck;
        return false;
      }
      const bool good = probe.run(from.uuid, to.uuid, access, times);
      if (access.probed == ProbeResult::kTimeout) {
        stuck = "the copy from GPU " + std::to_string(from.index) + " to GPU " +
                std::to_string(to.index) + " hangs";
      }
      return good;
    };
    const bool good_forth = one_way(*a, *b, link.a_to_b, forth);
    const bool good_back = one_way(*b, *a, link.b_to_a, back);
    if (!good_forth || !good_back) {
      link.cost.reset();  // whatever was known before does not hold for the way left
    } else if (auto cost = slower_fit(forth, back, graph.notes)) {
      link.cost = cost;
    }
  }
}

std::map<std::string, std::string> peer_environment(const TopologyGraph& graph,
                                                    const std::vector<int>& gpus,
                                                    std::string* reason) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const Link* link = graph.find_link(gpus[i], gpus[j]);
      if (!link) continue;
      for (const PeerAccess* access : {&link->a_to_b, &link->b_to_a}) {
        if (!access->refused()) continue;
        if (reason) {
          *reason = "peer access between GPU " + std::to_string(link->a) + " and GPU " +
                    std::to_string(link->b) + " is off: " +
                    (access->reason.empty() ? "declared " + std::string(to_string(access->declared))
                                            : access->reason);
        }
        return {{"NCCL_P2P_DISABLE", "1"}};
      }
    }
  }
  return {};
}

}  // namespace ditar
