#include "ditar/topology/topology_file.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ditar {
namespace {

TopologyGraph full_graph() {
  TopologyGraph graph;
  graph.source = "a \"test\"";
  graph.hosts = {{"left", "amd", "580.1"}, {}};
  Gpu first;
  first.uuid = "GPU-0";
  first.pci = "0000:3b:00.0";
  first.name = "NVIDIA RTX A5500";
  first.numa = 1;
  first.numa_affinity = "1";
  first.cpu_affinity = "0-3";
  first.pcie = {1, 4, 16, 16};
  first.memory_bytes = 25'757'220'864;
  Gpu second;
  second.index = 3;
  second.host = 1;
  second.mig = true;
  graph.gpus = {first, second};
  Link link;
  link.b = 3;
  link.path = {PathType::kNvl, 4};
  link.a_to_b = {PeerStatus::kOk, ProbeResult::kTimeout, "no copy arrived within 3 s"};
  link.cost = LinkCost{7.25, 52.5, 0.03, Origin::kMeasured};
  graph.links = {link};
  graph.collectives = {
      {Collective::kAllReduce, {0, 3}, "nvlink", {15.0, 40.0, 0.1, Origin::kModelled}}};
  graph.notes = {"one note"};
  return graph;
}

std::string refusal(const std::string& text) {
  try {
    from_topology_json(text);
  } catch (const DataError& error) {
    return error.message();
  }
  return "";
}

TEST(TopologyJsonTest, RoundTripsEveryField) {
  const TopologyGraph graph = full_graph();
  EXPECT_EQ(from_topology_json(to_topology_json(graph)), graph);
}

TEST(TopologyJsonTest, NamesThePlaceOfEveryFault) {
  EXPECT_NE(refusal("{\"schema\": 1").find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal("[]").find("must be an object"), std::string::npos);
  EXPECT_NE(refusal("{\"schema\": 2, \"gpus\": []}").find("schema"), std::string::npos);
  EXPECT_NE(refusal("{\"schema\": 1}").find("gpus is missing"), std::string::npos);
  EXPECT_NE(refusal("{\"schema\": 1, \"gpus\": [], \"speed\": 1}").find("speed"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"schema":1,"hosts":[{}],"gpus":[{"index":"0"}]})").find("gpus[0].index"),
            std::string::npos);
  const std::string two = R"({"schema":1,"hosts":[{}],"gpus":[{"index":0},{"index":1}],)";
  EXPECT_NE(refusal(two + R"("links":[{"a":0,"b":1,"path":"nv4"}]})").find("links[0].path"),
            std::string::npos);
  EXPECT_NE(refusal(two + R"("links":[{"a":0,"b":1,"path":"NV4","nvlinks":3}]})").find("disagrees"),
            std::string::npos);
  EXPECT_NE(refusal(two + R"("links":[{"a":1,"b":0,"path":"SYS"}]})").find("lower index"),
            std::string::npos);
}

TEST(TopologyJsonTest, SurvivesEveryTruncation) {
  const std::string whole = to_topology_json(full_graph());
  for (std::size_t cut = 0; cut + 2 < whole.size(); ++cut) {
    EXPECT_THROW(from_topology_json(whole.substr(0, cut)), DataError) << cut;
  }
}

TEST(ReadTopologyTest, TellsTheKindsApart) {
  EXPECT_EQ(read_topology(to_topology_json(full_graph())), full_graph());
  EXPECT_EQ(read_topology("# a comment\n\tGPU0\nGPU0\t X \n").source, "nvidia-smi topo -m");
  EXPECT_EQ(read_topology("GPU 0: A (UUID: GPU-0)\n").source, "nvidia-smi -L");
  const auto graph =
      read_topology("GPU 0: A (UUID: GPU-0)\nLink 0: 14.062 GB/s\nLink 1: <inactive>\n");
  EXPECT_EQ(graph.source, "nvidia-smi nvlink -s");
  EXPECT_NE(graph.notes.back().find("1 of 2 links"), std::string::npos);
}

TEST(LoadTopologyTest, NamesTheFile) {
  EXPECT_THROW(load_topology("/nonexistent/topology.json"), IoError);
  EXPECT_THROW(load_topology("/"), IoError);
  const std::string path = testing::TempDir() + "/broken-topology.json";
  std::ofstream(path) << "{";
  try {
    load_topology(path);
    FAIL() << "a broken file was read";
  } catch (const DataError& error) {
    EXPECT_EQ(error.message().rfind(path, 0), 0u);
  }
}

}  // namespace
}  // namespace ditar
