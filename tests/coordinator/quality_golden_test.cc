// Judge and scores against PyTorch and NumPy (scripts/golden/make_judge_golden.py).
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/coordinator/quality/judge.h"
#include "ditar/coordinator/quality/scores.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ditar {
namespace {

constexpr const char* kFile = DITAR_SOURCE_DIR "/tests/coordinator/data/judge_golden.safetensors";

class JudgeGoldenTest : public ::testing::Test {
 protected:
  std::vector<float> f32(const char* key) const { return read_f32(file_.at(key)); }
  double scalar(const char* key) const { return read_f64(file_.at(key)).at(0); }
  std::vector<std::int32_t> labels() const {
    std::vector<std::int32_t> out;
    for (const std::int64_t x : read_i64(file_.at("golden.labels"))) {
      out.push_back(static_cast<std::int32_t>(x));
    }
    return out;
  }
  SafetensorsFile file_{kFile};
  Judge judge_{kFile};
};

TEST_F(JudgeGoldenTest, FeaturesAndLogitsMatch) {
  const ScoredSet set = judge_.score(f32("golden.images"), labels());
  EXPECT_LE(relative_l2_error(f32("golden.features"), set.features), 1e-5);
  EXPECT_LE(relative_l2_error(f32("golden.logits"), set.logits), 1e-5);
  EXPECT_EQ(accuracy(set), scalar("golden.accuracy"));
  const std::vector<double> expected = read_f64(file_.at("golden.log_probability"));
  const std::vector<double> got = label_log_probability(set);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
}

TEST_F(JudgeGoldenTest, ImageHasTheSameBitsInAnyBatch) {
  const std::vector<float> images = f32("golden.images");
  const ScoredSet all = judge_.score(images, labels());
  const std::vector<std::int32_t> one = {labels()[5]};
  const ScoredSet single =
      judge_.score(std::span<const float>(images).subspan(5 * Judge::kPixels, Judge::kPixels), one);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(single.logits[i], all.logits[50 + i]);
}

TEST_F(JudgeGoldenTest, RefusesPartImagesAndForeignLabels) {
  const std::vector<float> images = f32("golden.images");
  EXPECT_THROW(judge_.score(images, std::vector<std::int32_t>{1}), InvalidArgument);
  std::vector<std::int32_t> bad = labels();
  bad[3] = 10;
  EXPECT_THROW(judge_.score(images, bad), InvalidArgument);
}

TEST_F(JudgeGoldenTest, DistancesMatch) {
  const std::vector<float> x = f32("golden.x"), y = f32("golden.y");
  const double expected = scalar("golden.frechet");
  EXPECT_NEAR(frechet_distance(moments(x, 8), moments(y, 8)), expected, 1e-8 * expected);
  EXPECT_NEAR(frechet_distance(moments(x, 8), moments(x, 8)), 0.0, 1e-10);
  EXPECT_NEAR(kernel_distance(x, y, 8), scalar("golden.kernel"),
              1e-10 * std::abs(scalar("golden.kernel")));
  const std::vector<float> images = f32("golden.images"), b = f32("golden.b");
  const std::span<const float> a = std::span<const float>(images).first(Judge::kPixels);
  EXPECT_NEAR(psnr(a, b), scalar("golden.psnr"), 1e-9);
  EXPECT_NEAR(ssim(a, b, 28, 28), scalar("golden.ssim"), 1e-10);
  EXPECT_NEAR(ssim(a, a, 28, 28), 1.0, 1e-12);
}

TEST_F(JudgeGoldenTest, RequiredScoresAreChosenByName) {
  const ScoredSet set = judge_.score(f32("golden.images"), labels());
  EXPECT_EQ(required_score("accuracy", set, judge_.reference()), accuracy(set));
  EXPECT_GT(required_score("frechet", set, judge_.reference()), 0.0);
  EXPECT_THROW(required_score("kernel_distance", set, judge_.reference()), InvalidArgument);
  EXPECT_THROW(required_score("beauty", set, judge_.reference()), InvalidArgument);
}

TEST(ScoresTest, BrokenValuesAreWorstNotNan) {
  const std::vector<float> good = {0.0F, 1.0F}, bad = {0.0F, std::nanf("")}, zero = {0.0F, 0.0F};
  EXPECT_TRUE(std::isinf(relative_l2_error(good, bad)));
  EXPECT_TRUE(std::isinf(max_abs_error(good, bad)));
  EXPECT_EQ(psnr(good, bad), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(psnr(good, good)));
  EXPECT_EQ(relative_l2_error(zero, zero), 0.0);
  EXPECT_TRUE(std::isinf(relative_l2_error(zero, good)));
  ScoredSet set{1, 1, 2, {0.0F}, {std::nanf(""), 1.0F}, {0}};
  EXPECT_EQ(accuracy(set), 0.0);
  EXPECT_THROW(moments(good, 2), InvalidArgument);
  EXPECT_THROW(kernel_distance(good, good, 2), InvalidArgument);
}

}  // namespace
}  // namespace ditar
