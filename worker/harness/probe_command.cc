#include "probe_command.h"

#include "bench_group.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"
#include "ditar/topology_nvml/machine_facts.h"
#include "ditar/topology_probe/probe.h"
#include "group_probe.h"
#include "rank_gpus.h"
#include "rank_threads.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>

namespace ditar {

namespace {

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

TopologyGraph base_graph(const ProbeCommandOptions& options) {
  return options.topology.empty() ? read_machine().graph : load_topology(options.topology);
}

int show(const ProbeCommandOptions& options, const TopologyGraph& graph, bool good) {
  if (!options.out.empty()) {
    std::ofstream file(options.out);
    file << to_topology_json(graph);
    if (!file.flush())
      throw IoError(options.out + " cannot be written; check path and permissions");
  }
  std::cout << render(graph, options.json ? TopologyFormat::kJson : TopologyFormat::kText);
  return to_int(good ? ExitCode::kOk : ExitCode::kFailure);
}

std::vector<int> numbered(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

int probe_ranks(BenchGroup& group, const ProbeCommandOptions& options) {
  const std::string device =
      options.device == "cpu" ? "cpu" : "cuda:" + std::to_string(group.rank());
  const bool cpu = device == "cpu";
  TopologyGraph graph = cpu ? graph_of_ranks(group.gather(host_name())) : base_graph(options);
  const std::vector<int> gpus = cpu ? numbered(group.size()) : rank_gpus(group, graph, device);
  keep_off_refused_peers(graph, gpus);
  group.connect(device);
  const bool good = probe_group(*group.communicator(), parse_device(device), gpus, graph);
  int code = to_int(good ? ExitCode::kOk : ExitCode::kFailure);
  if (group.rank() == 0) code = show(options, graph, good);
  group.finish();
  return code;
}

int probe_threads(const ProbeCommandOptions& options) {
  require(options.ranks >= 2,
          "a probe needs at least 2 ranks, not " + std::to_string(options.ranks));
  const TopologyGraph ranks = graph_of_ranks(
      std::vector<std::string>(static_cast<std::size_t>(options.ranks), host_name()));
  TopologyGraph graph;
  bool good = false;
  on_rank_threads(options.ranks, GroupProbeOptions{}.deadline, [&](Communicator& world) {
    TopologyGraph own = ranks;
    const bool all = probe_group(world, {}, numbered(world.size()), own);
    if (world.rank() != 0) return;
    graph = own;
    good = all;
  });
  return show(options, graph, good);
}

/// Peer copies between the GPUs that one process sees.
int probe_gpus(const ProbeCommandOptions& options) {
  TopologyGraph graph = base_graph(options);
  const ProbeOptions probe;
  const auto copier = make_cuda_copier(*std::max_element(probe.sizes.begin(), probe.sizes.end()));
  probe_peers(*copier, graph, probe);
  const bool good = std::none_of(graph.links.begin(), graph.links.end(), [](const Link& link) {
    return link.a_to_b.refused() || link.b_to_a.refused();
  });
  const int code = show(options, graph, good);
  // A copy that never arrived may block the driver's own clean-up.
  if (good) return code;
  std::cout.flush();
  ::_exit(code);
}

}  // namespace

int probe_command(const ProbeCommandOptions& options) {
  require(options.device == "cpu" || options.device == "cuda",
          "--device " + options.device + " is not one of cpu, cuda");
  require(options.device == "cuda" || options.topology.empty(),
          "--topology is a file of GPUs; ranks on CPUs make a graph of their own");
  BenchGroup group;
  init_logging("dit-worker", group.size() > 1 ? group.rank() : -1);
  if (group.size() == 1) {
    return options.device == "cuda" ? probe_gpus(options) : probe_threads(options);
  }
  try {
    return probe_ranks(group, options);
  } catch (const Error& error) {
    group.leave(error.message(), to_int(error.exit_code()));
  } catch (const std::exception& error) {
    group.leave(error.what(), to_int(ExitCode::kFailure));
  }
}

}  // namespace ditar
