#include "ditar/topology/graph.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TopologyGraph pair_graph() {
  TopologyGraph graph;
  graph.hosts.push_back({});
  for (int i = 0; i < 2; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.uuid = "GPU-" + std::to_string(i);
    graph.gpus.push_back(gpu);
  }
  Link link;
  link.b = 1;
  link.path = {PathType::kNvl, 4};
  graph.links.push_back(link);
  return graph;
}

std::string fault_of(const TopologyGraph& graph) {
  try {
    graph.validate();
  } catch (const DataError& error) {
    return error.message();
  }
  return "";
}

TEST(PathTest, ReadsEveryWordAndWritesItBack) {
  for (const char* word : {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "NET", "NV1", "NV4", "NV18"}) {
    const auto path = parse_path(word);
    ASSERT_TRUE(path) << word;
    EXPECT_EQ(to_string(*path), word);
  }
  EXPECT_EQ(parse_path("SOC")->type, PathType::kSys);
  EXPECT_EQ(parse_path("NV12")->nvlinks, 12);
}

TEST(PathTest, RefusesWhatIsNotAWord) {
  for (const char* word :
       {"", "NV", "NV0", "NV04", "NV-1", "NV123", "NV4x", "phb", "SYSSYS", "0"}) {
    EXPECT_FALSE(parse_path(word)) << word;
  }
}

TEST(TopologyGraphTest, FindsALinkFromEitherEnd) {
  const TopologyGraph graph = pair_graph();
  graph.validate();
  ASSERT_NE(graph.find_link(1, 0), nullptr);
  EXPECT_EQ(graph.find_link(1, 0), graph.find_link(0, 1));
  EXPECT_EQ(graph.find_link(0, 2), nullptr);
}

TEST(TopologyGraphTest, NamesTheFaultItFinds) {
  TopologyGraph twice = pair_graph();
  twice.gpus[1].index = 0;
  EXPECT_NE(fault_of(twice).find("index appears twice"), std::string::npos);
  TopologyGraph uuid = pair_graph();
  uuid.gpus[1].uuid = "GPU-0";
  EXPECT_NE(fault_of(uuid).find("UUID GPU-0 appears twice"), std::string::npos);
  TopologyGraph end = pair_graph();
  end.links[0].b = 7;
  EXPECT_NE(fault_of(end).find("GPU0-GPU7"), std::string::npos);
  TopologyGraph cost = pair_graph();
  cost.links[0].cost = LinkCost{7.0, 0.0, 0.0, Origin::kMeasured};
  EXPECT_NE(fault_of(cost).find("bandwidth"), std::string::npos);
  TopologyGraph host = pair_graph();
  host.gpus[1].host = 3;
  EXPECT_NE(fault_of(host).find("host 3"), std::string::npos);
}

TEST(PeerAccessTest, DeclaredOkAloneIsNotProof) {
  PeerAccess peer{PeerStatus::kOk, ProbeResult::kNotProbed, ""};
  EXPECT_FALSE(peer.proven());
  EXPECT_FALSE(peer.refused());
  peer.probed = ProbeResult::kTimeout;
  EXPECT_TRUE(peer.refused());
  peer.probed = ProbeResult::kOk;
  EXPECT_TRUE(peer.proven());
  peer.declared = PeerStatus::kChipsetNotSupported;
  EXPECT_FALSE(peer.proven());
}

}  // namespace
}  // namespace ditar
