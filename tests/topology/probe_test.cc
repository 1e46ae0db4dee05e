#include "ditar/topology_probe/probe.h"

#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"
#include "ditar/topology/topology_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace ditar {
namespace {

using std::chrono::milliseconds;

/// Copies by a formula; one direction can hang (nothing ever arrives: it returns at the deadline),
/// flip a byte in large copies, flip one only at unaligned places, or fail.
class FakeCopier : public PeerCopier {
 public:
  enum class Fault { kNone, kHang, kCorruptLarge, kCorruptOdd, kFail };

  std::vector<std::string> devices() const override { return {"GPU-0", "GPU-1", "GPU-2"}; }
  CopyReport copy(const std::string& from, const std::string& to, std::size_t bytes,
                  std::size_t offset, std::uint32_t, milliseconds deadline) override {
    ++copies;
    CopyReport report;
    report.state = CopyState::kArrived;
    report.seconds = 9e-6 + static_cast<double>(bytes) / (from < to ? 24e9 : 20e9);
    if (from != faulty_from || to != faulty_to) return report;
    if (fault == Fault::kHang) {
      std::this_thread::sleep_for(deadline);
      return {CopyState::kTimeout, 0.0, std::nullopt, ""};
    }
    if (fault == Fault::kFail) return {CopyState::kFailed, 0.0, std::nullopt, "no peer access"};
    const bool bad = (fault == Fault::kCorruptLarge && bytes > 1'000'000) ||
                     (fault == Fault::kCorruptOdd && offset % 4 != 0);
    if (bad) report.first_bad_offset = static_cast<std::int64_t>(bytes) - 1;
    return report;
  }

  Fault fault = Fault::kNone;
  std::string faulty_from = "GPU-0", faulty_to = "GPU-1";
  int copies = 0;
};

TopologyGraph graph_of_three() {
  TopologyGraph graph = read_topology(
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\tPHB\nGPU1\tPHB\t X \tPHB\nGPU2\tPHB\tPHB\t X \n");
  for (Gpu& gpu : graph.gpus) gpu.uuid = "GPU-" + std::to_string(gpu.index);
  return graph;
}

ProbeOptions quick() {
  ProbeOptions options;
  options.deadline = milliseconds(50);
  options.repeats = 2;
  return options;
}

TEST(ProbeTest, FitsTheSlowerDirectionOfGoodLinks) {
  FakeCopier copier;
  TopologyGraph graph = graph_of_three();
  probe_peers(copier, graph, quick());
  for (const Link& link : graph.links) {
    EXPECT_TRUE(link.a_to_b.proven());
    EXPECT_TRUE(link.b_to_a.proven());
    ASSERT_TRUE(link.cost);
    EXPECT_EQ(link.cost->origin, Origin::kMeasured);
    EXPECT_NEAR(link.cost->bandwidth_gb_per_s, 20.0, 1e-6);
    EXPECT_NEAR(link.cost->alpha_us, 9.0, 1e-6);
  }
  EXPECT_TRUE(peer_environment(graph, {0, 1}).empty());
}

TEST(ProbeTest, ANeverArrivingPeerIsNamedAndTurnedOffInTime) {
  FakeCopier copier;
  copier.fault = FakeCopier::Fault::kHang;
  TopologyGraph graph = graph_of_three();
  graph.links[0].a_to_b.declared = PeerStatus::kOk;  // a declaration proves nothing
  const auto start = std::chrono::steady_clock::now();
  probe_peers(copier, graph, quick());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(copier.copies, 1);
  EXPECT_EQ(graph.links[0].a_to_b.probed, ProbeResult::kTimeout);
  EXPECT_NE(graph.links[0].a_to_b.reason.find("within 50 ms"), std::string::npos);
  EXPECT_NE(graph.links[1].a_to_b.reason.find("from GPU 0 to GPU 1 hangs"), std::string::npos);
  EXPECT_FALSE(graph.links[1].a_to_b.proven());
  EXPECT_EQ(model_link(graph, graph.links[0]).transport, "host memory");
  std::string reason;
  EXPECT_EQ(peer_environment(graph, {0, 1}, &reason).at("NCCL_P2P_DISABLE"), "1");
  EXPECT_NE(reason.find("did not arrive"), std::string::npos);
  EXPECT_TRUE(peer_environment(graph, {0}).empty());
}

TEST(ProbeTest, FindsCorruptionThatOnlyLargeOrUnalignedCopiesShow) {
  for (const auto fault : {FakeCopier::Fault::kCorruptLarge, FakeCopier::Fault::kCorruptOdd}) {
    FakeCopier copier;
    copier.fault = fault;
    copier.faulty_from = "GPU-1";
    copier.faulty_to = "GPU-0";
    TopologyGraph graph = graph_of_three();
    graph.links[0].cost = LinkCost{1.0, 99.0, 0.0, Origin::kMeasured};
    probe_peers(copier, graph, quick());
    EXPECT_TRUE(graph.links[0].a_to_b.proven());
    EXPECT_EQ(graph.links[0].b_to_a.probed, ProbeResult::kCorrupt);
    EXPECT_NE(graph.links[0].b_to_a.reason.find("first at byte"), std::string::npos);
    EXPECT_FALSE(graph.links[0].cost);  // an old figure does not outlive a refusal
    EXPECT_TRUE(graph.links[1].a_to_b.proven());
  }
}

TEST(ProbeTest, NamesFailures) {
  FakeCopier copier;
  copier.fault = FakeCopier::Fault::kFail;
  TopologyGraph graph = graph_of_three();
  probe_peers(copier, graph, quick());
  EXPECT_EQ(graph.links[0].a_to_b.probed, ProbeResult::kFailed);
  EXPECT_NE(graph.links[0].a_to_b.reason.find("no peer access"), std::string::npos);
}

TEST(ProbeTest, LeavesDeclaredRefusalsAndStrangersAlone) {
  FakeCopier copier;
  TopologyGraph graph = graph_of_three();
  graph.links[0].a_to_b.declared = PeerStatus::kChipsetNotSupported;
  graph.gpus[2].uuid = "GPU-unreachable";
  probe_peers(copier, graph, quick());
  EXPECT_EQ(graph.links[0].a_to_b.probed, ProbeResult::kNotProbed);
  EXPECT_FALSE(graph.links[0].cost);
  EXPECT_EQ(graph.links[1].a_to_b.probed, ProbeResult::kNotProbed);
}

TEST(ProbeTest, RefusesProbesThatCannotBeFitted) {
  FakeCopier copier;
  TopologyGraph graph = graph_of_three();
  ProbeOptions options;
  options.sizes = {4, 8};
  EXPECT_THROW(probe_peers(copier, graph, options), InvalidArgument);
  options = {};
  options.repeats = 0;
  EXPECT_THROW(probe_peers(copier, graph, options), InvalidArgument);
}

}  // namespace
}  // namespace ditar
