#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/calibration.h"
#include "ditar/coordinator/verdict/decision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ditar {
namespace {

std::vector<double> alternating(int n, double size) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(i % 2 == 0 ? size : -size);
  return values;
}

TEST(CalibrationTest, SigmaIsTheUpperBound) {
  const Calibration c = calibrate(alternating(20, 0.003), DecisionParams{});
  EXPECT_TRUE(c.accepted) << c.reasons.front();
  EXPECT_NEAR(c.sd, 0.003 * std::sqrt(20.0 / 19.0), 1e-12);
  EXPECT_NEAR(c.sigma0 / c.sd, 1.277, 5e-4);
  EXPECT_LT(c.lag1, -0.9);
}

TEST(CalibrationTest, RefusesBiasDependenceNoiseAndTooFew) {
  std::vector<double> biased = alternating(20, 0.001);
  for (double& x : biased) x += 0.002;
  EXPECT_FALSE(calibrate(biased, DecisionParams{}).accepted);
  std::vector<double> slow;
  for (int i = 0; i < 20; ++i) slow.push_back(0.003 * std::sin(0.3 * i));
  EXPECT_FALSE(calibrate(slow, DecisionParams{}).accepted);
  EXPECT_FALSE(calibrate(alternating(20, 0.2), DecisionParams{}).accepted);
  for (int n = 0; n <= 5; ++n) {
    const Calibration few = calibrate(alternating(n, 0.003), DecisionParams{});
    EXPECT_FALSE(few.accepted);
    EXPECT_GT(few.sigma0, 0.0);
  }
}

TEST(CalibrationTest, EqualTimesGiveTheFloorAndNoNan) {
  const Calibration c = calibrate(std::vector<double>(20, 0.0), DecisionParams{});
  EXPECT_TRUE(c.accepted);
  EXPECT_EQ(c.sigma0, DecisionParams{}.sigma_floor);
  EXPECT_EQ(c.lag1, 0.0);
  const std::vector<double> bad(20, std::nan(""));
  EXPECT_THROW(calibrate(bad, DecisionParams{}), InvalidArgument);
}

TEST(CalibrationTest, DetectableEffectGrowsWithNoiseAndCampaign) {
  const DecisionParams params;
  const double first = minimum_detectable_effect(0.003, params, 1, 0);
  EXPECT_GT(first, params.min_effect);
  EXPECT_GT(minimum_detectable_effect(0.006, params, 1, 0), first);
  EXPECT_GE(minimum_detectable_effect(0.003, params, 300, 0), first);
}

TEST(ControlAlarmTest, FiresOnDriftOfTheNoise) {
  EXPECT_FALSE(control_alarm({}, 0.003).alarm);
  EXPECT_FALSE(control_alarm(alternating(20, 0.003), 0.003).alarm);
  EXPECT_TRUE(control_alarm(alternating(20, 0.006), 0.003).alarm);
  EXPECT_TRUE(control_alarm(std::vector<double>{0.0, 0.016}, 0.003).alarm);
  // Only the last twenty count.
  std::vector<double> healed = alternating(20, 0.006);
  const std::vector<double> good = alternating(20, 0.001);
  healed.insert(healed.end(), good.begin(), good.end());
  EXPECT_FALSE(control_alarm(healed, 0.003).alarm);
  EXPECT_THROW(control_alarm(good, 0.0), InvalidArgument);
}

}  // namespace
}  // namespace ditar
