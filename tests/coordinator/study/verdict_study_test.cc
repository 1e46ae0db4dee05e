// The error rates that a KEEP promises, by simulation through the shipped decide().
#include "simulated_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ditar::study {
namespace {

struct Rates {
  double keep = 0.0;
  double median_screen = 0.0;
};

Rates measure(const EngineModel& model, const DecisionParams& params, const TrialSetup& setup,
              int trials) {
  Rates rates;
  std::vector<double> screens;
  for (int t = 0; t < trials; ++t) {
    SimulatedEngine engine(model, 7919ULL * static_cast<unsigned>(t) + 5);
    const TrialResult r = run_trial(engine, setup, params);
    rates.keep += r.decision.outcome == Outcome::kKeep ? 1.0 / trials : 0.0;
    screens.push_back(r.screen_blocks);
  }
  rates.median_screen = median(screens);
  return rates;
}

class VerdictStudyTest : public ::testing::TestWithParam<bool> {
 protected:
  bool quick() const { return GetParam(); }
  EngineModel model() const { return quick() ? small_cpu_model() : EngineModel{}; }
  DecisionParams params() const { return quick() ? quick_profile() : DecisionParams{}; }
  double sd() const { return true_block_sd(model(), params(), 1); }
};

TEST_P(VerdictStudyTest, NoOpIsKeptInAtMostOnePercent) {
  EXPECT_LE(measure(model(), params(), {0.0, 1.277 * sd(), 1, 0}, 2000).keep, 0.01);
}

TEST_P(VerdictStudyTest, NoOpIsNotKeptUnderThrottling) {
  EngineModel hot = model();
  hot.throttle_every_s = 600.0;
  hot.throttle_seen_share = 0.5;
  EXPECT_LE(measure(hot, params(), {0.0, 1.277 * sd(), 1, 0}, 1000).keep, 0.01);
}

TEST_P(VerdictStudyTest, NoOpIsNotKeptWhenSigmaIsHalfTheTruth) {
  EXPECT_LE(measure(model(), params(), {0.0, 0.5 * sd(), 1, 0}, 2000).keep, 0.01);
}

TEST_P(VerdictStudyTest, SlowerCandidateIsNeverKeptAndLeavesEarly) {
  // One percent on the reference profile; the quick lane's noise is twice as large.
  const double gain = quick() ? -0.02 : -0.01;
  const Rates rates = measure(model(), params(), {gain, 1.277 * sd(), 1, 0}, 500);
  EXPECT_EQ(rates.keep, 0.0);
  EXPECT_LE(rates.median_screen, 3.0);
}

TEST_P(VerdictStudyTest, RealGainIsKept) {
  const TrialSetup tenth{quick() ? 0.02 : 0.01, 1.277 * sd(), 10, 1};
  EXPECT_GE(measure(model(), params(), tenth, 500).keep, 0.99);
}

TEST_P(VerdictStudyTest, MinimumDetectableEffectIsKeptFourTimesInFive) {
  const double sigma = sd();
  const double mde = minimum_detectable_effect(sigma, params(), 1, 0);
  const double keep = measure(model(), params(), {mde, sigma, 1, 0}, 500).keep;
  EXPECT_GE(keep, 0.65);
  EXPECT_LE(keep, 0.97);
}

INSTANTIATE_TEST_SUITE_P(Profiles, VerdictStudyTest, ::testing::Bool(), [](const auto& param_info) {
  return param_info.param ? "quick" : "reference";
});

TEST(VerdictStudyReferenceTest, HalfPercentIsKeptAtTheTenthExperiment) {
  const DecisionParams params;
  const double sigma0 = 1.277 * true_block_sd(EngineModel{}, params, 1);
  EXPECT_GE(measure(EngineModel{}, params, {0.005, sigma0, 10, 1}, 500).keep, 0.80);
}

int throttling_discards(bool only_candidate) {
  EngineModel model;
  model.throttle_every_s = only_candidate ? 45.0 : 90.0;  // the same share of time
  model.candidate_throttles = only_candidate;
  int discards = 0;
  for (unsigned t = 0; t < 100; ++t) {
    SimulatedEngine engine(model, t);
    const TrialResult r = run_trial(engine, {0.01, 0.004, 1, 0}, DecisionParams{});
    discards += r.decision.reason == DiscardReason::kThrottling ? 1 : 0;
  }
  return discards;
}

TEST(VerdictStudyReferenceTest, ThrottlingIsBlamedOnTheArmThatCausesIt) {
  EXPECT_GE(throttling_discards(true), 20);
  EXPECT_LE(throttling_discards(false), 3);
}

}  // namespace
}  // namespace ditar::study
