#include "rank_gpus.h"

#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/kernels/device.h"
#include "ditar/topology_probe/probe.h"

#include <algorithm>
#include <cstdlib>

namespace ditar {

std::vector<int> rank_gpus(BenchGroup& group, const TopologyGraph& graph,
                           const std::string& device) {
  std::vector<int> gpus;
  for (const std::string& uuid : group.gather(device_uuid(parse_device(device)))) {
    const auto found = std::find_if(graph.gpus.begin(), graph.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.uuid == uuid; });
    require(found != graph.gpus.end(), "the topology has no GPU with UUID " + uuid +
                                           "; give the one of this machine, or none");
    gpus.push_back(found->index);
  }
  return gpus;
}

void keep_off_refused_peers(const TopologyGraph& graph, const std::vector<int>& gpus) {
  std::string reason;
  for (const auto& [name, value] : peer_environment(graph, gpus, &reason)) {
    log_warning(reason + "; " + name + "=" + value + " for this run");
    ::setenv(name.c_str(), value.c_str(), 1);
  }
}

}  // namespace ditar
