// Faults and profiles of the engine on a GPU.
#include "dit_engine_requests.h"
#include "ditar/config/error.h"
#include "ditar/kernels/device.h"
#include "ditar/kernels/kernel_trace.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditar {
namespace {

using ::testing::HasSubstr;

class CudaFaultTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device is visible to this process";
  }
  static EngineOptions on_gpu() {
    EngineOptions options;
    options.device = "cuda:0";
    options.precision = GetParam();
    return options;
  }
};

TEST_P(CudaFaultTest, NamesLayerAndStepOfWhatIsNotFinite) {
  const TempFolder folder;
  EngineOptions options = on_gpu();
  options.model_path = (folder.path() / "poisoned.safetensors").string();
  write_poisoned_model(options.model_path);
  const auto engine = load(options);
  try {
    generate(*engine, {});
    FAIL() << "a result that is not finite was given out";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("step 0 (timestep 999)"));
    EXPECT_THAT(error.message(), HasSubstr("blocks.1.mlp.fc1"));
  }
}

// The groups hold kernel times of a trace, the whole is timed without one: what is left are
// launches and waits, which cannot be less than nothing beyond the two clocks' disagreement.
TEST_P(CudaFaultTest, AProfileAccountsForTheWholeStep) {
  const auto engine = load(on_gpu());
  generate(*engine, {});
  const StepProfile profile = engine->profile_step(1, 20);
  EXPECT_GT(profile.step_ms, 0.0);
  if (const std::string why = KernelTrace::hindrance(); !why.empty()) {
    GTEST_SKIP() << "no groups: " << why;
  }
  ASSERT_FALSE(profile.groups.empty());
  EXPECT_THAT(profile.method, HasSubstr("within graphs"));
  double sum = 0.0;
  for (const PhaseRecord& group : profile.groups) {
    sum += group.milliseconds;
    EXPECT_NE(group.name, "other") << "work that no op claims";
    if (group.name != "gaps") {
      EXPECT_GT(group.milliseconds, 0.0) << group.name;
    }
  }
  EXPECT_NEAR(sum, profile.step_ms, 1e-6);
  EXPECT_GE(profile.groups.back().milliseconds, -0.03 * profile.step_ms);
}

std::string name(const ::testing::TestParamInfo<Precision>& info) {
  return std::string(to_string(info.param));
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaFaultTest,
                         ::testing::Values(Precision::kF32, Precision::kF16, Precision::kBF16),
                         name);

}  // namespace
}  // namespace ditar
