#include "cli/console.h"
#include "commands/commands.h"
#include "ditar/config/error.h"
#include "temp_folder.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace ditar {
namespace {

constexpr const char* kTwoCards =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\t0-15\t0\n"
    "GPU1\tNV4\t X \t0-15\t0\n";

nlohmann::json json_of(const TopologyOptions& options) {
  testing::internal::CaptureStdout();
  {
    Console console(/*json=*/true, /*verbose=*/false);
    EXPECT_EQ(run_topology({}, options, console), 0);
  }
  return nlohmann::json::parse(testing::internal::GetCapturedStdout());
}

TEST(TopologyCommandTest, ReadsAPasteAndDrawsIt) {
  const TempFolder folder;
  const auto paste = folder.path() / "topo.txt", svg = folder.path() / "links.svg";
  std::ofstream(paste) << kTwoCards;
  const nlohmann::json document = json_of({paste.string(), svg.string()});
  EXPECT_EQ(document.at("gpus").size(), 2U);
  ASSERT_EQ(document.at("links").size(), 1U);
  EXPECT_EQ(document.at("links")[0].at("path"), "NV4");
  std::ostringstream picture;
  picture << std::ifstream(svg).rdbuf();
  EXPECT_NE(picture.str().find("<svg"), std::string::npos);
}

TEST(TopologyCommandTest, AnswersOnAMachineWithoutADriver) {
  const nlohmann::json document = json_of({});
  EXPECT_TRUE(document.at("gpus").is_array());
  EXPECT_TRUE(document.at("nccl").is_array());
  if (document.at("gpus").empty()) {
    EXPECT_FALSE(document.at("notes").empty()) << "nothing found and nothing said";
  }
}

/// A worker that prints `graph` (or nothing), complains and ends with `code`.
std::string scripted_worker(const TempFolder& folder, const std::string& graph, int code) {
  const auto path = folder.path() / "worker";
  std::ofstream(path) << "#!/bin/sh\necho \"$@\" >" << (folder.path() / "asked").string()
                      << "\ncat <<'END'\n"
                      << graph << "\nEND\necho '12:00:00.000 dit-worker error: no such luck' >&2\n"
                      << "exit " << code << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

TEST(TopologyCommandTest, ShowsWhatAWorkerMeasuredAndSaysWhatIsMissing) {
  if (!json_of({}).at("gpus").empty()) GTEST_SKIP() << "this machine has GPUs";
  const TempFolder folder;
  std::ifstream saved(DITAR_SOURCE_DIR "/tests/topology/samples/saved.json");
  const std::string graph{std::istreambuf_iterator<char>(saved), {}};
  // A refused link ends the worker with 1; the graph counts all the same.
  const auto document = json_of({"", "", true, scripted_worker(folder, graph, 1)});
  EXPECT_EQ(document.at("links").at(0).at("path"), "NV4");
  EXPECT_GT(document.at("notes").size(), 1U);
  std::ostringstream asked;
  asked << std::ifstream(folder.path() / "asked").rdbuf();
  EXPECT_EQ(asked.str(), "probe --json --device cpu\n");
}

TEST(TopologyCommandTest, PassesAWorkersFaultOn) {
  if (!json_of({}).at("gpus").empty()) GTEST_SKIP() << "this machine has GPUs";
  const TempFolder folder;
  Console console(true, false);
  const auto fault = [&](const TopologyOptions& options) {
    try {
      run_topology({}, options, console);
    } catch (const Error& error) {
      return std::to_string(to_int(error.exit_code())) + " " + error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(fault({"", "", true, scripted_worker(folder, "", 75)}), "75 probe: no such luck");
  EXPECT_NE(fault({"", "", true, "/nowhere/worker"}).find("no worker at /nowhere"),
            std::string::npos);
  EXPECT_NE(fault({"x.json", "", true, ""}).find("give one of both"), std::string::npos);
}

TEST(TopologyCommandTest, NamesTheFileThatItCannotRead) {
  Console console(true, false);
  try {
    run_topology({}, {"/nonexistent/topo.txt", ""}, console);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("/nonexistent/topo.txt"), std::string::npos);
  }
}

}  // namespace
}  // namespace ditar
