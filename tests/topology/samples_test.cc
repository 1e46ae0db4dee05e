// Reads every file of the folder named by DITAR_TOPOLOGY_SAMPLES: each is read, or refused with an
// error that names the file and the place.
#include "ditar/config/error.h"
#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

namespace ditar {
namespace {

TEST(TopologySamplesTest, EveryFileIsReadOrRefusedByName) {
  const char* folder = std::getenv("DITAR_TOPOLOGY_SAMPLES");
  if (!folder) GTEST_SKIP() << "DITAR_TOPOLOGY_SAMPLES names no folder";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path());
  }
  ASSERT_FALSE(files.empty()) << folder << " holds no file";
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    try {
      const TopologyGraph graph = load_topology(file);
      std::cout << "read     " << name << ": " << graph.gpus.size() << " GPUs,";
      for (const Link& link : graph.links) {
        if (link.a == graph.gpus.front().index) std::cout << ' ' << to_string(link.path);
      }
      std::cout << '\n';
      for (const std::string& note : graph.notes) std::cout << "         note: " << note << '\n';
      EXPECT_EQ(from_topology_json(to_topology_json(graph)), graph) << name;
      EXPECT_FALSE(render(graph, TopologyFormat::kText).empty());
      EXPECT_FALSE(render(graph, TopologyFormat::kSvg).empty());
    } catch (const DataError& error) {
      std::cout << "refused  " << error.message() << '\n';
      EXPECT_EQ(error.message().rfind(file.string() + ": ", 0), 0u) << error.message();
    }
  }
}

}  // namespace
}  // namespace ditar
