#include "ditar/topology/link_model.h"

#include "ditar/config/error.h"
#include "ditar/topology/topology_file.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ditar {
namespace {

TopologyGraph matrix(const std::string& text) {
  TopologyGraph graph = read_topology(text);
  fill_modelled_costs(graph);
  return graph;
}

TEST(CollectiveCostTest, TwoRanksMatchTheHandFormulas) {
  const LinkCost copy{10.0, 20.0, 0.0, Origin::kModelled};
  const double s = 4e6;
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::kAllReduce, 2, s, copy), 20e-6 + s / 20e9);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::kAllGather, 2, s, copy), 10e-6 + s / 2 / 20e9);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::kReduceScatter, 2, s, copy),
                   10e-6 + s / 2 / 20e9);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::kAllToAll, 2, s, copy), 10e-6 + s / 2 / 20e9);
  EXPECT_DOUBLE_EQ(collective_seconds(Collective::kPointToPoint, 2, s, copy), 10e-6 + s / 20e9);
}

TEST(CollectiveCostTest, FourRanksPayMoreStepsAndMoreBytes) {
  EXPECT_EQ(latency_steps(Collective::kAllReduce, 4), 6);
  EXPECT_EQ(latency_steps(Collective::kAllGather, 4), 3);
  EXPECT_DOUBLE_EQ(wire_bytes(Collective::kAllReduce, 4, 1000.0), 1500.0);
  EXPECT_DOUBLE_EQ(wire_bytes(Collective::kAllGather, 4, 1000.0), 750.0);
  EXPECT_DOUBLE_EQ(wire_bytes(Collective::kAllReduce, 1, 1000.0), 0.0);
}

TEST(FitLinkTest, RecoversAlphaAndBandwidth) {
  std::vector<TimedTransfer> points;
  for (double bytes = 4096; bytes < 1e8; bytes *= 4) {
    points.push_back({bytes, 12e-6 + bytes / 25e9});
  }
  const LinkCost fit = fit_link(points);
  EXPECT_NEAR(fit.alpha_us, 12.0, 1e-6);
  EXPECT_NEAR(fit.bandwidth_gb_per_s, 25.0, 1e-6);
  EXPECT_LT(fit.residual, 1e-9);
  EXPECT_EQ(fit.origin, Origin::kMeasured);
}

TEST(FitLinkTest, ReportsScatterAsResidual) {
  std::vector<TimedTransfer> points;
  double sign = 1.0;
  for (double bytes = 4096; bytes < 1e8; bytes *= 2, sign = -sign) {
    points.push_back({bytes, (12e-6 + bytes / 25e9) * (1.0 + 0.1 * sign)});
  }
  const LinkCost fit = fit_link(points);
  EXPECT_NEAR(fit.residual, 0.1, 0.02);
  EXPECT_NEAR(fit.bandwidth_gb_per_s, 25.0, 3.0);
}

TEST(FitLinkTest, NeverGivesANegativeLatency) {
  const std::vector<TimedTransfer> points{{1e6, 1e-5}, {2e6, 3e-5}, {4e6, 7e-5}};
  const LinkCost fit = fit_link(points);
  EXPECT_EQ(fit.alpha_us, 0.0);
  EXPECT_GT(fit.bandwidth_gb_per_s, 0.0);
}

TEST(FitLinkTest, RefusesWhatCannotBeFitted) {
  EXPECT_THROW(fit_link({}), InvalidArgument);
  const std::vector<TimedTransfer> one_size{{1e6, 1e-5}, {1e6, 2e-5}, {1e6, 3e-5}};
  EXPECT_THROW(fit_link(one_size), InvalidArgument);
  const std::vector<TimedTransfer> zero{{1e6, 1e-5}, {2e6, 0.0}, {3e6, 3e-5}};
  EXPECT_THROW(fit_link(zero), InvalidArgument);
  const std::vector<TimedTransfer> falling{{1e6, 3e-5}, {2e6, 2e-5}, {3e6, 1e-5}};
  EXPECT_THROW(fit_link(falling), InvalidArgument);
}

TEST(GroupCostTest, AFittedCollectiveBeatsTheLinkModel) {
  TopologyGraph graph = matrix("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
  const double modelled = group_seconds(graph, Collective::kAllReduce, {0, 1}, 1e6);
  EXPECT_EQ(group_origin(graph, Collective::kAllReduce, {0, 1}), Origin::kModelled);
  graph.collectives.push_back(
      {Collective::kAllReduce, {1, 0}, "nvlink", {100.0, 10.0, 0.0, Origin::kMeasured}});
  EXPECT_DOUBLE_EQ(group_seconds(graph, Collective::kAllReduce, {0, 1}, 1e6), 100e-6 + 1e-4);
  EXPECT_NE(group_seconds(graph, Collective::kAllReduce, {0, 1}, 1e6), modelled);
  EXPECT_EQ(group_origin(graph, Collective::kAllReduce, {0, 1}), Origin::kMeasured);
}

TEST(GroupCostTest, TheSlowestLinkOfTheGroupCounts) {
  const TopologyGraph graph =
      matrix("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n");
  EXPECT_LT(group_seconds(graph, Collective::kPointToPoint, {0, 1}, 1e7),
            group_seconds(graph, Collective::kPointToPoint, {0, 1, 2}, 1e7));
}

TEST(LinkModelTest, FollowsNcclsDefaultsByCpuAndPath) {
  TopologyGraph graph = read_topology("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n");
  graph.hosts[0].cpu_vendor = "intel";
  EXPECT_EQ(model_link(graph, graph.links[0]).transport, "host memory");
  graph.hosts[0].cpu_vendor = "amd";
  EXPECT_EQ(model_link(graph, graph.links[0]).transport, "pcie peer");
  graph.links[0].a_to_b.probed = ProbeResult::kCorrupt;
  EXPECT_EQ(model_link(graph, graph.links[0]).transport, "host memory");
  graph.links[0].a_to_b = {};
  graph.links[0].path = {PathType::kPix, 0};
  graph.hosts[0].cpu_vendor = "intel";
  EXPECT_EQ(model_link(graph, graph.links[0]).transport, "pcie peer");
}

TEST(LinkModelTest, ANarrowSlotSlowsThePair) {
  TopologyGraph graph = read_topology("\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n");
  const double wide = model_link(graph, graph.links[0]).cost.bandwidth_gb_per_s;
  graph.gpus[1].pcie = {1, 4, 8, 8};
  EXPECT_DOUBLE_EQ(model_link(graph, graph.links[0]).cost.bandwidth_gb_per_s, wide / 2);
  graph.gpus[1].pcie = {1, 3, 8, 8};
  EXPECT_DOUBLE_EQ(model_link(graph, graph.links[0]).cost.bandwidth_gb_per_s, wide / 4);
}

TEST(ChooseGpusTest, TakesTheBridgedPairWhereverItIs) {
  const TopologyGraph graph = matrix(
      "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPHB\tNV4\tPHB\nGPU1\tPHB\t X \tPHB\tNV4\n"
      "GPU2\tNV4\tPHB\t X \tPHB\nGPU3\tPHB\tNV4\tPHB\t X \n");
  EXPECT_EQ(choose_gpus(graph, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(choose_gpus(graph, 1), (std::vector<int>{0}));
  EXPECT_THROW(choose_gpus(graph, 5), InvalidArgument);
}

TEST(ChooseGpusTest, LeavesPartitionedGpusOut) {
  TopologyGraph graph = matrix("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
  graph.gpus[0].mig = true;
  EXPECT_EQ(choose_gpus(graph, 1), (std::vector<int>{1}));
  EXPECT_THROW(choose_gpus(graph, 2), InvalidArgument);
}

TEST(ShippedMachinesTest, HoldWhatTheModelSaysAndAreMarkedModelled) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(DITAR_SOURCE_DIR "/topology/machines")) {
    const TopologyGraph graph = load_topology(entry.path());
    ++files;
    ASSERT_EQ(graph.links.size(), 1u) << entry.path();
    EXPECT_EQ(graph.links[0].cost, model_link(graph, graph.links[0]).cost) << entry.path();
    EXPECT_EQ(graph.links[0].cost->origin, Origin::kModelled);
    EXPECT_EQ(graph.source.rfind("modelled machine", 0), 0u);
  }
  EXPECT_EQ(files, 3);
}

}  // namespace
}  // namespace ditar
