#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/sweep_decision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ditar {
namespace {

TEST(DecideSweepTest, WinnerIsTheLargestOfThoseThatAreBetter) {
  SweepEvidence evidence;
  evidence.sigma0 = 0.003;
  evidence.gains.assign(20, {0.001, -0.002, 0.0, 0.001, -0.001, 0.0});
  evidence.gains[4] = {0.011, 0.010, 0.012, 0.010, 0.009, 0.011};
  evidence.gains[9] = {0.021, 0.020, 0.019, 0.022, 0.020, 0.018};
  const SweepDecision d = decide_sweep(evidence, DecisionParams{});
  EXPECT_EQ(d.better, (std::vector<std::size_t>{4, 9}));
  EXPECT_EQ(d.winner, 9U);
  EXPECT_EQ(d.log_e.size(), 20U);
}

TEST(DecideSweepTest, ManyPointsRaiseTheHurdleOfEach) {
  SweepEvidence evidence;
  evidence.sigma0 = 0.003;
  evidence.gains = {{0.004, 0.006, 0.005, 0.006}};
  EXPECT_EQ(decide_sweep(evidence, DecisionParams{}).better.size(), 1U);
  evidence.gains.resize(200, {0.0, 0.0, 0.0, 0.0});
  EXPECT_TRUE(decide_sweep(evidence, DecisionParams{}).better.empty());
}

TEST(DecideSweepTest, GainBelowTheLeastIsBetterButNoWinner) {
  SweepEvidence evidence;
  evidence.sigma0 = 0.0005;
  evidence.gains = {{0.002, 0.002, 0.002, 0.002, 0.002, 0.002}};
  const SweepDecision d = decide_sweep(evidence, DecisionParams{});
  EXPECT_EQ(d.better.size(), 1U);
  EXPECT_FALSE(d.winner.has_value());
}

TEST(DecideSweepTest, EmptyAndBadEvidence) {
  SweepEvidence evidence;
  EXPECT_THROW(decide_sweep(evidence, DecisionParams{}), DataError);
  evidence.sigma0 = 0.003;
  EXPECT_TRUE(decide_sweep(evidence, DecisionParams{}).better.empty());
  evidence.gains = {{}};
  EXPECT_TRUE(decide_sweep(evidence, DecisionParams{}).better.empty());
  evidence.gains = {{std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THROW(decide_sweep(evidence, DecisionParams{}), DataError);
}

}  // namespace
}  // namespace ditar
