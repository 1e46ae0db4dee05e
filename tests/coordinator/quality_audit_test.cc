#include "ditar/config/error.h"
#include "ditar/coordinator/quality/oracle_audit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ditar {
namespace {

constexpr std::size_t kItems = 48, kSteps = 10, kFree = 250;

/// Errors around `level` with item noise; step 9 (t = 0) an order above the rest.
ErrorTable errors(std::size_t items, std::size_t steps, double level, double spread,
                  unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0.0, spread);
  ErrorTable table{items, steps, {}};
  for (std::size_t i = 0; i < items * steps; ++i) {
    const double step = steps > 1 && i % steps == steps - 1 ? 10.0 : 1.0;
    table.values.push_back(level * step * std::exp(noise(random)));
  }
  return table;
}

AuditInput honest(unsigned seed, double scale = 1.0, double free_scale = 1.0) {
  AuditInput in;
  in.parent_steps = errors(kItems, kSteps, 4e-7, 0.2, seed);
  in.parent_free = errors(kFree, 1, 2e-6, 0.4, seed + 1);
  in.candidate_steps = errors(kItems, kSteps, 4e-7 * scale, 0.2, seed + 2);
  in.candidate_free = errors(kFree, 1, 2e-6 * free_scale, 0.4, seed + 3);
  return in;
}

/// With four admissible variants of the parent, as a baseline measures them.
AuditInput with_variants(unsigned seed) {
  AuditInput in = honest(seed);
  for (unsigned v = 1; v <= 4; ++v) {
    in.variant_steps.push_back(errors(kItems, kSteps, 4e-7, 0.2, 5000 + 100 * seed + v));
    in.variant_free.push_back(errors(kFree, 1, 2e-6, 0.4, 7000 + 100 * seed + v));
  }
  return in;
}

AuditParams params() {
  AuditParams p;
  p.step_ceiling = 0.02;
  p.seed = 42;
  return p;
}

TEST(AuditTest, OtherSummationOrderIsExactAndRarelyRefused) {
  int refused = 0;
  for (unsigned s = 0; s < 100; ++s) {
    const AuditResult r = audit_class(ChangeClass::kExact, with_variants(10 * s), params());
    refused += r.claim_holds ? 0 : 1;
  }
  EXPECT_LE(refused, 5);
}

TEST(AuditTest, SameBitsAreExactWhateverTheErrors) {
  AuditInput in = honest(1);
  in.candidate_steps = in.parent_steps;
  in.candidate_free = in.parent_free;
  in.bits_equal = true;
  EXPECT_EQ(audit_class(ChangeClass::kExact, in, params()).shown, ChangeClass::kExact);
}

TEST(AuditTest, SkippedBlockClaimedExactIsRefused) {
  const AuditResult r = audit_class(ChangeClass::kExact, honest(1, 3e5, 1e5), params());
  EXPECT_EQ(r.shown, ChangeClass::kApproximate);
  EXPECT_FALSE(r.claim_holds);
  EXPECT_FALSE(r.reasons.empty());
}

TEST(AuditTest, HalfTheStepsClaimedNumericalIsRefused) {
  // Single steps cannot be halved; the trajectories show it.
  const AuditInput in = honest(1, 1.0, 1.5e5);
  const AuditResult r = audit_class(ChangeClass::kNumerical, in, params());
  EXPECT_EQ(r.shown, ChangeClass::kApproximate);
  EXPECT_FALSE(r.claim_holds);
  EXPECT_TRUE(audit_class(ChangeClass::kApproximate, in, params()).claim_holds);
}

TEST(AuditTest, SixteenBitArithmeticIsNumerical) {
  const AuditInput in = honest(1, 1e3, 1e3);
  EXPECT_EQ(audit_class(ChangeClass::kExact, in, params()).shown, ChangeClass::kNumerical);
  EXPECT_FALSE(audit_class(ChangeClass::kExact, in, params()).claim_holds);
  EXPECT_TRUE(audit_class(ChangeClass::kNumerical, in, params()).claim_holds);
}

TEST(AuditTest, EightBitWeightsClaimedExactAreRefusedClaimedQuantizationAdmitted) {
  const AuditInput in = honest(1, 2e4, 2e4);
  EXPECT_FALSE(audit_class(ChangeClass::kExact, in, params()).claim_holds);
  EXPECT_TRUE(audit_class(ChangeClass::kQuantization, in, params()).claim_holds);
}

TEST(AuditTest, OneDegradedTimestepAndOneBadItemShow) {
  AuditInput step = honest(1);
  for (std::size_t i = 0; i < kItems; ++i) step.candidate_steps.values[i * kSteps + 4] *= 1.6;
  EXPECT_FALSE(audit_class(ChangeClass::kExact, step, params()).claim_holds);
  AuditInput item = honest(1);
  item.candidate_steps.values[7 * kSteps + 2] = 4e-6;
  const AuditResult r = audit_class(ChangeClass::kExact, item, params());
  EXPECT_FALSE(r.claim_holds);
  EXPECT_GT(r.worst_over_admissible, 2.0);
}

TEST(AuditTest, AdmissibleVariantsWidenTheLimit) {
  AuditInput in = honest(1, 1.3, 1.3);
  EXPECT_FALSE(audit_class(ChangeClass::kExact, in, params()).claim_holds);
  in.variant_steps = {errors(kItems, kSteps, 4e-7 * 1.5, 0.2, 91)};
  in.variant_free = {errors(kFree, 1, 2e-6 * 1.5, 0.4, 92)};
  EXPECT_TRUE(audit_class(ChangeClass::kExact, in, params()).claim_holds);
}

TEST(AuditTest, BrokenOutputsAreNeverExactOrNumerical) {
  AuditInput in = honest(1);
  in.candidate_steps.values[0] = std::numeric_limits<double>::infinity();
  const AuditResult r = audit_class(ChangeClass::kNumerical, in, params());
  EXPECT_FALSE(r.claim_holds);
  in.candidate_free.items = 3;
  EXPECT_THROW(audit_class(ChangeClass::kExact, in, params()), InvalidArgument);
}

TEST(AuditTest, SameSeedGivesTheSameBits) {
  const AuditResult a = audit_class(ChangeClass::kExact, honest(5), params());
  const AuditResult b = audit_class(ChangeClass::kExact, honest(5), params());
  EXPECT_EQ(a.step_ratio_upper, b.step_ratio_upper);
  EXPECT_EQ(a.ratio_by_step_lower, b.ratio_by_step_lower);
}

TEST(StepErrorsTest, NoiseIsRecoveredFromThePredictedSample) {
  const double alpha_bar = 0.36;  // sqrt: 0.6 and 0.8
  const std::vector<float> x0 = {0.5F, -0.25F}, x_t = {0.6F * 0.5F + 0.8F, 0.6F * -0.25F - 1.6F};
  const std::vector<double> eps = eps_from_x0(x_t, x0, alpha_bar);
  EXPECT_NEAR(eps[0], 1.0, 1e-6);
  EXPECT_NEAR(eps[1], -2.0, 1e-6);
  const std::vector<std::vector<float>> inputs = {x_t}, oracle = {x0}, off = {{0.6F, -0.25F}},
                                        broken = {{std::nanf(""), 0.0F}}, cut = {{0.5F}};
  const std::vector<double> bars = {alpha_bar};
  EXPECT_NEAR(step_errors(inputs, oracle, off, bars).at(0, 0), 0.6 * 0.1 / 0.8 / std::sqrt(5.0),
              1e-6);
  EXPECT_EQ(step_errors(inputs, oracle, oracle, bars).at(0, 0), 0.0);
  EXPECT_TRUE(std::isinf(step_errors(inputs, oracle, broken, bars).at(0, 0)));
  EXPECT_TRUE(std::isinf(step_errors(inputs, oracle, cut, bars).at(0, 0)));
  EXPECT_THROW(eps_from_x0(x_t, x0, 1.0), InvalidArgument);
}

}  // namespace
}  // namespace ditar
