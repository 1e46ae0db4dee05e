#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_topo_matrix(text);
  } catch (const DataError& error) {
    return error.message();
  }
  return "";
}

std::string path_of(const TopologyGraph& graph, int a, int b) {
  const Link* link = graph.find_link(a, b);
  return link ? to_string(link->path) : "none";
}

bool has_note(const TopologyGraph& graph, const std::string& part) {
  for (const std::string& note : graph.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(TopoMatrixTest, ReadsABridgedPair) {
  const auto graph = parse_topo_matrix(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tNV4\t0-15,32-47\t0\t\tN/A\n"
      "GPU1\tNV4\t X \t16-31\t1\t\tN/A\n\nLegend:\n\n  X    = Self\n  NV#  = bonded\n");
  ASSERT_EQ(graph.gpus.size(), 2u);
  EXPECT_EQ(path_of(graph, 0, 1), "NV4");
  EXPECT_EQ(graph.gpus[0].cpu_affinity, "0-15,32-47");
  EXPECT_EQ(graph.gpus[0].numa, 0);
  EXPECT_EQ(graph.gpus[1].numa, 1);
}

TEST(TopoMatrixTest, StripsEscapesWithAndWithoutTheEscByte) {
  for (const char* code : {"\x1b[4m", "[4m", "\x1b[1;32m"}) {
    const auto graph = parse_topo_matrix("\t" + std::string(code) +
                                         "GPU0\tCPU Affinity\tNUMA Affinity\x1b[0m\r\n"
                                         "GPU0\t X \t0-7\t0\r\n");
    ASSERT_EQ(graph.gpus.size(), 1u);
    EXPECT_EQ(graph.gpus[0].cpu_affinity, "0-7");
  }
}

TEST(TopoMatrixTest, ReadsOldVocabularyAndBlankAlignment) {
  const auto graph = parse_topo_matrix(
      "     GPU0 GPU1 GPU2 CPU Affinity\n"
      "GPU0  X   PHB  SOC  0-11\n"
      "GPU1 PHB   X   SOC  0-11\n"
      "GPU2 SOC  SOC   X   12-23\n");
  EXPECT_EQ(path_of(graph, 0, 2), "SYS");
  EXPECT_EQ(path_of(graph, 0, 1), "PHB");
  EXPECT_EQ(graph.gpus[2].cpu_affinity, "12-23");
}

TEST(TopoMatrixTest, KeepsEmptyAffinityApartFromNuma) {
  const auto graph = parse_topo_matrix(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tNV4\t\t1\t\tN/A\n"
      "GPU1\tNV4\t X \t0\t\tN/A\t\tN/A\n");
  EXPECT_EQ(graph.gpus[0].cpu_affinity, "");
  EXPECT_EQ(graph.gpus[0].numa, 1);
  EXPECT_EQ(graph.gpus[1].cpu_affinity, "0");
  EXPECT_FALSE(graph.gpus[1].numa);
}

TEST(TopoMatrixTest, KeepsNumaRangesAsTextOnly) {
  const auto graph =
      parse_topo_matrix("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0,64\t0,8,252-255\n");
  EXPECT_FALSE(graph.gpus[0].numa);
  EXPECT_EQ(graph.gpus[0].numa_affinity, "0,8,252-255");
}

TEST(TopoMatrixTest, ReadsRowsAndColumnsInAnyOrder) {
  const auto graph = parse_topo_matrix(
      "\tNIC0\tGPU2\tGPU0\tGPU10\n"
      "GPU10\tSYS\tNV2\tPIX\t X \n"
      "GPU0\tPIX\tNODE\t X \tPIX\n"
      "GPU2\tPHB\t X \tNODE\tNV2\n");
  EXPECT_EQ(path_of(graph, 0, 2), "NODE");
  EXPECT_EQ(path_of(graph, 2, 10), "NV2");
  EXPECT_EQ(path_of(graph, 0, 10), "PIX");
  EXPECT_TRUE(has_note(graph, "NIC0"));
}

TEST(TopoMatrixTest, ReadsQuotedAndFencedPastes) {
  const auto graph = parse_topo_matrix(
      "some log line\n```\n> \tGPU0\tGPU1\n> GPU0\t X \tPHB\n> GPU1\tPHB\t X \n```\n");
  EXPECT_EQ(path_of(graph, 0, 1), "PHB");
}

TEST(TopoMatrixTest, RefusesMissingRowsByName) {
  const auto why = refusal("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\n");
  EXPECT_NE(why.find("truncated"), std::string::npos);
  EXPECT_NE(why.find("GPU1 GPU2"), std::string::npos);
}

TEST(TopoMatrixTest, RefusesACutRowByRowAndColumn) {
  const auto why = refusal("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\n");
  EXPECT_NE(why.find("row GPU1, column GPU1"), std::string::npos);
}

TEST(TopoMatrixTest, RefusesGluedGpuCells) {
  const auto why = refusal("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tSYSSYS\n");
  EXPECT_NE(why.find("\"SYSSYS\""), std::string::npos);
  EXPECT_NE(why.find("row GPU0, column GPU1"), std::string::npos);
  EXPECT_NE(refusal("\tGPU0GPU1\tGPU2\n").find("glued"), std::string::npos);
}

TEST(TopoMatrixTest, KeepsTheGpuBlockWhenNicCellsAreGlued) {
  const auto graph = parse_topo_matrix(
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\n"
      "GPU0\t X \tPHB\tPIXSYS\t0-3\n"
      "GPU1\tPHB\t X \tSYS\tPIX\t0-3\n");
  EXPECT_EQ(path_of(graph, 0, 1), "PHB");
  EXPECT_TRUE(has_note(graph, "row GPU0, column NIC0"));
  EXPECT_EQ(graph.gpus[0].cpu_affinity, "");  // what follows a glued cell is not trusted
  EXPECT_EQ(graph.gpus[1].cpu_affinity, "0-3");
}

TEST(TopoMatrixTest, RefusesGluedNicCellsLeftOfGpus) {
  EXPECT_NE(refusal("\tNIC0\tNIC1\tGPU0\nGPU0\tPIXPIX\t X \n"), "");
}

TEST(TopoMatrixTest, RefusesAsymmetryAndShiftedRows) {
  EXPECT_NE(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV1\t X \n").find("NV12"),
            std::string::npos);
  EXPECT_NE(refusal("\tGPU0\tGPU1\nGPU0\tNV4\t X \nGPU1\tNV4\t X \n").find("where X must stand"),
            std::string::npos);
}

TEST(TopoMatrixTest, RefusesHandMadeTables) {
  EXPECT_NE(
      refusal("|      | GPU0 | GPU1 |\n|------|---|---|\n| GPU0 | X | NV4 |\n").find("Markdown"),
      std::string::npos);
  EXPECT_NE(refusal("CPU Affinity\tGPU0\tGPU1\n0-3\tX\tNV4\n").find("before the devices"),
            std::string::npos);
}

TEST(TopoMatrixTest, RefusesErrorTextsAndFragments) {
  EXPECT_NE(refusal("ERROR: Option -m is missing its value.\n").find("printed an error"),
            std::string::npos);
  EXPECT_NE(refusal("NIC4\tNODE\tPXB\tSYSSYS\n").find("without the header"), std::string::npos);
  EXPECT_NE(refusal("").find("no header"), std::string::npos);
}

TEST(TopoMatrixTest, RefusesRepeatedRowsColumnsAndMatrices) {
  const std::string good = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n";
  EXPECT_NE(refusal(good + "GPU1\tPIX\t X \n").find("appears twice"), std::string::npos);
  EXPECT_NE(refusal("\tGPU0\tGPU0\n").find("appears twice"), std::string::npos);
  EXPECT_NE(refusal(good + good).find("second matrix"), std::string::npos);
  EXPECT_NE(refusal(good + "GPU2\tPIX\tPIX\n").find("has no column"), std::string::npos);
}

TEST(TopoMatrixTest, SurvivesEveryTruncation) {
  const std::string whole =
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV12\tPIX\t0-7\t0\nGPU1\tNV12\t X \tSYS\t8-15\t1\nNIC0\tPIX\tSYS\t X \t\t\n";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    try {
      const auto graph = parse_topo_matrix(whole.substr(0, cut));
      // A cut may leave fewer columns, never another path between the two GPUs.
      EXPECT_EQ(path_of(graph, 0, 1), graph.gpus.size() == 2 ? "NV12" : "none") << cut;
    } catch (const DataError& error) {
      EXPECT_NE(error.message(), "");
    }
  }
}

}  // namespace
}  // namespace ditar
