// Every vintage of input that a user may paste, each read right or refused by name. The files are
// in samples/, hand-made and as small as shows the point. DITAR_TOPOLOGY_SAMPLES may name another
// folder whose files then must be read or refused by name too.
#include "ditar/config/error.h"
#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"
#include "test_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

namespace ditar {
namespace {

using testing::HasSubstr;

const std::filesystem::path kFolder = DITAR_SOURCE_DIR "/tests/topology/samples";

struct Sample {
  const char* file;
  const char* graph;      ///< as summary() writes it; null: refused
  const char* says = "";  ///< part of a note, or of the refusal
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"ansi-piped.txt", "0[0-11|0] 1[0-11|0] 0-1:PHB"},
      {"ansi-escape-byte-lost.txt", "0[0-5|0] 1[6-11|1] 0-1:NV2"},
      {"byte-order-mark.txt", "0[0-3|] 1[0-3|] 0-1:PIX"},
      {"nic-columns-named.txt", "0[0-9|] 1[10-19|] 0-1:NV1"},
      {"nic-rows-missing.txt", "0[0-39|0] 1[0-39|0] 0-1:NV18", "NIC rows are missing: NIC0 NIC1"},
      {"soc-2015.txt", "0[0-7|] 1[0-7|] 2[8-15|] 0-1:PHB 0-2:SYS 1-2:SYS"},
      {"unsorted.txt", "0[0-7|0] 2[8-15|1] 10[16-23|2] 0-2:NODE 0-10:PIX 2-10:NV2"},
      {"indented-blanks.txt", "0[0-31,64-95|0] 1[32-63,96-127|1] 0-1:NV4"},
      {"single-blanks.txt",
       "0[16-31,80-95|1] 1[32-47,96-111|2] 2[48-63,112-127|3] 0-1:NV6 0-2:NODE 1-2:NODE"},
      {"empty-affinity.txt", "0[0|0] 1[|1] 0-1:NV4"},
      {"affinity-ranges.txt", "0[0,2,4-6|0-3] 1[1,3,5-7|0,8,252-255] 0-1:SYS"},
      {"numa-not-available.txt", "0[0-7|]"},
      {"log-and-fence.txt", "0[|] 1[|] 0-1:PXB"},
      {"glued-nic-cells.txt", "0[|] 1[0-3|] 0-1:PHB", "row GPU0, column NIC0: \"PIXSYS\""},
      {"list-mig.txt", "0[|] 1[|]", "MIG"},
      {"nvlink-status.txt", "0[|] 1[|]", "GPU 0: NVLink 3 of 4 links active"},
      {"nvlink-all-inactive.txt", "0[|]", "no bridge is fitted"},
      {"glued-gpu-cells.txt", nullptr, "line 2, row GPU0, column GPU1: \"SYSSYS\""},
      {"glued-header.txt", nullptr, "line 1: the column name \"GPU1GPU2\" is glued or cut"},
      {"glued-fragment.txt", nullptr, "line 1: a row without the header line"},
      {"truncated-rows.txt", nullptr, "truncated: the header names GPUs without a row: GPU2 GPU3"},
      {"truncated-cell.txt", nullptr, "line 4, row GPU2, column GPU1: the cell is missing"},
      {"asymmetric.txt", nullptr,
       "row GPU0, column GPU1 says NV12, row GPU1, column GPU0 says NV1"},
      {"shifted-row.txt", nullptr, "line 2, row GPU0, column GPU0: NV4 where X must stand"},
      {"markdown-table.txt", nullptr, "line 1: a hand-made (Markdown) table"},
      {"affinity-first.txt", nullptr, "line 1: the affinity columns stand before the devices"},
      {"two-hosts.txt", nullptr, "line 4: a second matrix"},
      {"unknown-word.txt", nullptr, "row GPU0, column GPU1: \"C2C\" is not X"},
      {"error-text.txt", nullptr, "nvidia-smi printed an error instead of a matrix"},
      {"option-missing.txt", nullptr, "nvidia-smi printed an error instead of a matrix"},
      {"empty.txt", nullptr, "no header line with GPU columns"},
      {"saved.json", "0[0-7|0] 1[|] 0-1:NV4", "written by hand"},
      {"saved-unknown-key.json", nullptr, "speed"},
      {"saved-wrong-word.json", nullptr, "links[0].path"},
  };
  return all;
}

/// Each GPU as "index[cpu affinity|numa affinity]", each link as "a-b:path".
std::string summary(const TopologyGraph& graph) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const Gpu& gpu : graph.gpus) {
    add(std::to_string(gpu.index) + "[" + gpu.cpu_affinity + "|" + gpu.numa_affinity + "]");
  }
  for (const Link& link : graph.links) {
    add(std::to_string(link.a) + "-" + std::to_string(link.b) + ":" + to_string(link.path));
  }
  return text;
}

std::set<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path());
  }
  return files;
}

/// Empty if the file is read, else the refusal without the file's name, which it must start with.
std::string refusal_of(const std::filesystem::path& file, TopologyGraph& graph) {
  try {
    graph = load_topology(file);
  } catch (const DataError& error) {
    const std::string place = file.string() + ": ";
    EXPECT_EQ(error.message().rfind(place, 0), 0u) << error.message();
    return error.message().substr(place.size());
  }
  EXPECT_EQ(from_topology_json(to_topology_json(graph)), graph) << file;
  EXPECT_FALSE(render(graph, TopologyFormat::kText).empty()) << file;
  EXPECT_FALSE(render(graph, TopologyFormat::kSvg).empty()) << file;
  return {};
}

class TopologySampleTest : public testing::TestWithParam<Sample> {};

TEST_P(TopologySampleTest, IsReadRightOrRefusedByName) {
  const Sample& sample = GetParam();
  TopologyGraph graph;
  const std::string refusal = refusal_of(kFolder / sample.file, graph);
  if (sample.graph == nullptr) {
    EXPECT_THAT(refusal, HasSubstr(sample.says));
    EXPECT_NE(refusal, "");
    return;
  }
  EXPECT_EQ(refusal, "");
  EXPECT_EQ(summary(graph), sample.graph);
  std::string notes;
  for (const std::string& note : graph.notes) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr(sample.says));
}

INSTANTIATE_TEST_SUITE_P(Files, TopologySampleTest, testing::ValuesIn(samples()),
                         [](const testing::TestParamInfo<Sample>& test) {
                           std::string name = test.param.file;
                           name.resize(name.rfind('.'));
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(TopologySamplesTest, EveryFileIsSpokenFor) {
  std::set<std::filesystem::path> listed;
  for (const Sample& sample : samples()) listed.insert(kFolder / sample.file);
  EXPECT_EQ(files_of(kFolder), listed);
}

TEST(TopologySamplesTest, FilesOfAnotherFolderAreReadOrRefusedByName) {
  const char* const named = std::getenv("DITAR_TOPOLOGY_SAMPLES");
  const auto files = files_of(named != nullptr ? std::filesystem::path(named) : kFolder);
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    TopologyGraph graph;
    const std::string refusal = refusal_of(file, graph);
    std::cout << file.filename().string() << ": "
              << (refusal.empty() ? summary(graph) : "refused: " + refusal) << '\n';
  }
}

}  // namespace
}  // namespace ditar
