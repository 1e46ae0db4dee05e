// The gate's own test. The judge has random weights here, so only what holds for any judge is
// asked: the admissible pass, every planted fault is refused by the strict gate.
#include "ditar/config/error.h"
#include "ditar/coordinator/quality/quality_gate.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <random>

namespace ditar {
namespace {

constexpr const char* kFile = DITAR_SOURCE_DIR "/tests/coordinator/data/judge_golden.safetensors";

SelfTestInput smooth_images(std::vector<std::vector<float>>& images) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<float> centre(8.0F, 20.0F);
  for (int i = 0; i < 128; ++i) {
    const float cx = centre(random), cy = centre(random);
    std::vector<float> image(Judge::kPixels);
    for (std::size_t p = 0; p < image.size(); ++p) {
      const float x = static_cast<float>(p % 28) - cx, y = static_cast<float>(p / 28) - cy;
      image[p] = x * x + y * y < 20.0F ? 1.0F : -1.0F + 0.001F * static_cast<float>(i);
    }
    images.push_back(image);
  }
  SelfTestInput input;
  input.original = images;
  input.variants = {images, images};
  for (auto& image : input.variants[1]) {
    for (float& x : image) x *= 1.0F - 1e-7F;
  }
  for (int i = 0; i < 128; ++i) input.labels.push_back(i % 10);
  return input;
}

TEST(GateSelfTest, PassesVariantsAndRefusesEveryPlantedFault) {
  std::vector<std::vector<float>> images;
  const SelfTestInput input = smooth_images(images);
  GateParams params;
  params.scores = {{"accuracy", true, 0.01, 0.0}, {"frechet", false, 0.5, 1e-3}};
  const auto cases = run_gate_self_test(input, Judge(kFile), ChangeClass::kExact, params);
  ASSERT_EQ(cases.size(), 10U);
  for (const SelfTestCase& c : cases) {
    EXPECT_TRUE(c.as_expected()) << c.name << ": " << (c.reasons.empty() ? "" : c.reasons.front());
  }
}

TEST(GateSelfTest, BrokenGateIsFoundOut) {
  std::vector<std::vector<float>> images;
  const SelfTestInput input = smooth_images(images);
  GateParams blind;  // no scores, no floor: only hard failures are left
  blind.exact_psnr_floor = -1e9;
  int missed = 0;
  for (const SelfTestCase& c :
       run_gate_self_test(input, Judge(kFile), ChangeClass::kExact, blind)) {
    missed += c.as_expected() ? 0 : 1;
  }
  EXPECT_GE(missed, 3);
}

TEST(GateSelfTest, NeedsSixtyFourImages) {
  EXPECT_THROW(run_gate_self_test({}, Judge(kFile), ChangeClass::kExact, {}), InvalidArgument);
}

}  // namespace
}  // namespace ditar
