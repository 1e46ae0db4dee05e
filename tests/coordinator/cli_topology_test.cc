#include "cli/console.h"
#include "commands/commands.h"
#include "ditar/config/error.h"
#include "temp_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
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
