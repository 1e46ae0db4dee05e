// dit-worker plan as a person runs it.
#include "program_run.h"
#include "test_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ditar {
namespace {

using ::testing::HasSubstr;

Answer plan(const std::string& arguments) {
  return run_program(std::string(DITAR_WORKER) + " plan " + arguments);
}

TEST(PlanCommandTest, PrintsTheListToStdoutAlone) {
  const Answer answer = plan("--model DiT-XL/2 --ranks 2 --json --topology " DITAR_SOURCE_DIR
                             "/topology/machines/two-a5500-nvlink.json");
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.errors, "");
  EXPECT_EQ(nlohmann::json::parse(answer.output).at("ranked").at(0).at("plan"), "cfg=2");
}

TEST(PlanCommandTest, ErrorsGoToStderrWithTheirExitCode) {
  struct Case {
    const char* arguments;
    int code;
    const char* says;
  };
  for (const Case& wrong :
       {Case{"--model DiT-H/2", 2, "DiT-H/2"}, Case{"--precision int4", 2, "int4"},
        Case{"--size 33", 2, "not divisible by the patch"},
        Case{"--topology /nowhere/topology.json", 74, "/nowhere/topology.json"},
        Case{"--topology " DITAR_SOURCE_DIR "/tests/topology/samples/truncated-rows.txt", 65,
             "GPU2 GPU3"}}) {
    const Answer answer = plan(wrong.arguments);
    EXPECT_EQ(answer.code, wrong.code) << wrong.arguments << ": " << answer.errors;
    EXPECT_EQ(answer.output, "") << wrong.arguments;
    EXPECT_THAT(answer.errors, HasSubstr(wrong.says)) << wrong.arguments;
  }
}

}  // namespace
}  // namespace ditar
