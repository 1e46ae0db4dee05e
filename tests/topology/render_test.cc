#include "ditar/topology/render.h"

#include "ditar/topology/topology_file.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TopologyGraph bridged_pair() {
  auto graph = read_topology("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
  graph.gpus[0].name = "A <& B>";
  graph.links[0].cost = LinkCost{7.0, 52.2, 0.0, Origin::kModelled};
  graph.links[0].b_to_a = {PeerStatus::kOk, ProbeResult::kCorrupt, "byte 4096 differs"};
  return graph;
}

TEST(RenderTest, TextShowsPathsCostsMarksAndReasons) {
  const std::string text = render(bridged_pair(), TopologyFormat::kText);
  for (const char* part :
       {"NV4", "52.2", "modelled", "probe corrupt", "byte 4096 differs", "Notes", "not probed"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(RenderTest, TextSaysWhenThereIsNoGpu) {
  TopologyGraph empty;
  empty.notes.emplace_back("no driver");
  const std::string text = render(empty, TopologyFormat::kText);
  EXPECT_NE(text.find("GPUs: none"), std::string::npos);
  EXPECT_NE(text.find("no driver"), std::string::npos);
  EXPECT_NE(render(empty, TopologyFormat::kSvg).find("no GPU"), std::string::npos);
}

TEST(RenderTest, JsonIsTheSavedForm) {
  EXPECT_EQ(from_topology_json(render(bridged_pair(), TopologyFormat::kJson)), bridged_pair());
}

TEST(RenderTest, SvgDrawsEveryGpuAndLinkAndEscapesNames) {
  const std::string svg = render(bridged_pair(), TopologyFormat::kSvg);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_NE(svg.find("A &lt;&amp; B&gt;"), std::string::npos);
  EXPECT_NE(svg.find("NV4: 52.2 GB/s, 7.0 us, modelled"), std::string::npos);
  EXPECT_NE(svg.find("<line"), std::string::npos);
}

}  // namespace
}  // namespace ditar
