// dit-worker as a person runs it: profile, and what bench says of a damaged weight.
#include "dit_engine_requests.h"
#include "program_run.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

namespace ditar {
namespace {

using ::testing::HasSubstr;

Answer worker(const std::string& arguments) {
  return run_program(std::string(DITAR_WORKER) + " " + arguments);
}

nlohmann::json profile(const std::string& arguments) {
  const Answer answer = worker("profile --json " + arguments);
  EXPECT_EQ(answer.code, 0) << answer.errors;
  return nlohmann::json::parse(answer.output);
}

TEST(ProfileCommandTest, MeasuresPhasesAndGroupsOnTheCpu) {
  const nlohmann::json measured =
      profile("--model " + model("hd72.safetensors") + " --repeats 5").at("measured");
  for (const char* phase : {"load", "prepare", "transfer", "denoise", "write"}) {
    EXPECT_GT(measured.at("phases").at(phase).at("ms"), 0.0) << phase;
  }
  EXPECT_GT(measured.at("ceilings").at("matmul_tflops"), 0.0);
  EXPECT_GT(measured.at("ceilings").at("copy_gb_per_s"), 0.0);
  double sum = 0.0;
  std::set<std::string> names;
  for (const nlohmann::json& group : measured.at("groups")) {
    sum += group.at("ms").get<double>();
    names.insert(group.at("name"));
    if (group.at("flops") > 0.0) {
      EXPECT_GT(group.at("percent_of_roofline"), 0.0) << group.at("name");
    }
  }
  EXPECT_NEAR(sum, measured.at("step_ms"), 0.03 * measured.at("step_ms").get<double>());
  EXPECT_THAT(names, ::testing::IsSupersetOf(
                         {"linear 32x216x72", "attention", "norm", "patch", "sampler", "gaps"}));
}

TEST(ProfileCommandTest, ModelsAGpuThatIsNotHere) {
  const nlohmann::json at_boost = profile("--model-of \"NVIDIA RTX A5500\" --batch 2");
  EXPECT_FALSE(at_boost.contains("measured"));
  const nlohmann::json& modelled = at_boost.at("modelled");
  EXPECT_EQ(modelled.at("origin"), "modelled");
  EXPECT_EQ(modelled.at("precision"), "fp16");
  EXPECT_EQ(modelled.at("clock_mhz"), 1665.0);
  EXPECT_EQ(modelled.at("rows"), 2);
  EXPECT_EQ(modelled.at("tokens"), 256);
  const nlohmann::json slower =
      profile("--model-of \"NVIDIA RTX A5500\" --batch 2 --clock-mhz 1200").at("modelled");
  EXPECT_GT(slower.at("step_ms"), modelled.at("step_ms"));
  const Answer text = worker("profile --model-of \"NVIDIA RTX A5500\"");
  EXPECT_THAT(text.output, HasSubstr("modelled (not measured) for NVIDIA RTX A5500"));
}

TEST(ProfileCommandTest, ShowsAModelOfAnotherDeviceWithoutAnError) {
  const nlohmann::json both =
      profile("--model " + model("hd72.safetensors") + " --repeats 2 --model-of \"NVIDIA H200\"");
  EXPECT_TRUE(both.contains("measured"));
  EXPECT_EQ(both.at("modelled").at("rows"), both.at("measured").at("rows"));
  EXPECT_FALSE(both.contains("model_error_percent"));
}

TEST(ProfileCommandTest, RefusesWhatItCannotDo) {
  const Answer nothing = worker("profile");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.errors, HasSubstr("--model-of"));
  const Answer unknown = worker("profile --model-of \"NVIDIA RTX A5500 Laptop GPU\"");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("no figures are known"));
  EXPECT_EQ(worker("profile --model-of \"NVIDIA H200\" --image 100").code, 2);
}

// Never a black image and exit 0.
TEST(ProfileCommandTest, ADamagedWeightEndsABenchWithItsLayerAndStep) {
  const TempFolder folder;
  const std::string path = (folder.path() / "poisoned.safetensors").string();
  write_poisoned_model(path);
  const Answer answer = worker("bench --requests 1 --warmup 0 --steps 2 --model " + path);
  EXPECT_NE(answer.code, 0);
  EXPECT_THAT(answer.errors, HasSubstr("blocks.1.mlp.fc1"));
  EXPECT_THAT(answer.errors, HasSubstr("step 0 (timestep 500)"));
}

}  // namespace
}  // namespace ditar
