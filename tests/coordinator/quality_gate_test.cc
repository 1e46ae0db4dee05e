#include "ditar/coordinator/quality/quality_gate.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ditar {
namespace {

using Images = std::vector<std::vector<float>>;

Images random_images(std::size_t count, std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  Images images(count, std::vector<float>(size));
  for (auto& image : images) {
    for (float& x : image) x = value(random);
  }
  return images;
}

/// A set whose judge is sure of the label by `margin` logits; features are Gaussian.
ScoredSet scored(std::size_t count, double margin, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0.0F, 1.0F);
  ScoredSet set{count, 4, 10, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<std::int32_t>(i % 10));
    for (int f = 0; f < 4; ++f) set.features.push_back(noise(random));
    for (std::size_t c = 0; c < 10; ++c) {
      set.logits.push_back(noise(random) + (c == i % 10 ? static_cast<float>(margin) : 0.0F));
    }
  }
  return set;
}

class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    reference_.feature_size = 4;
    reference_.mean.assign(4, 0.0);
    reference_.covariance.assign(16, 0.0);
    for (std::size_t i = 0; i < 4; ++i) reference_.covariance[5 * i] = 1.0;
    params_.scores = {{"accuracy", true, 0.01, 0.0}, {"frechet", false, 0.2, 0.0}};
    input_.hard.values_per_output = 64;
    input_.hard.outputs = images_;
    input_.original_images = images_;
    input_.candidate_images = images_;
    input_.reference = &reference_;
    input_.original = input_.candidate = scored(400, 4.0, 1);
    input_.original_fresh = input_.candidate_fresh = scored(400, 4.0, 2);
  }
  GateResult gate(ChangeClass chain) {
    input_.chain = chain;
    return run_quality_gate(input_, params_);
  }
  /// Makes `count` right answers wrong.
  static void spoil(ScoredSet& set, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) set.logits[i * 10 + i % 10] = -9.0F;
  }

  Images images_ = random_images(64, 64, 3);
  RealReference reference_;
  GateParams params_;
  GateInput input_;
};

TEST_F(GateTest, EqualOutputsPassEveryClass) {
  for (const ChangeClass c : {ChangeClass::kExact, ChangeClass::kNumerical,
                              ChangeClass::kQuantization, ChangeClass::kApproximate}) {
    const GateResult r = gate(c);
    EXPECT_TRUE(r.pass) << to_string(c) << ": " << (r.reasons.empty() ? "" : r.reasons.front());
  }
}

TEST_F(GateTest, QuantizationHasNoTolerance) {
  spoil(input_.candidate, 1);
  EXPECT_FALSE(gate(ChangeClass::kQuantization).pass);
  EXPECT_TRUE(gate(ChangeClass::kApproximate).pass);  // inside the registered margin
}

TEST_F(GateTest, QuantizationFailsWhenItemsLose) {
  for (std::size_t i = 0; i < 400; ++i) {
    input_.candidate_fresh.logits[i * 10 + i % 10] -= i % 5 == 0 ? -0.001F : 0.001F;
  }
  const GateResult r = gate(ChangeClass::kQuantization);
  EXPECT_FALSE(r.pass);
  EXPECT_EQ(r.losses, 320);
  EXPECT_EQ(r.wins, 80);
}

TEST_F(GateTest, ApproximateMustStayInsideItsMargin) {
  spoil(input_.candidate, 30);
  EXPECT_FALSE(gate(ChangeClass::kApproximate).pass);
}

TEST_F(GateTest, EnvelopeOfVariantsHoldsForExactOnly) {
  ScoredSet variant = input_.original;
  spoil(variant, 2);
  input_.variants = {variant};
  spoil(input_.candidate, 1);
  EXPECT_TRUE(gate(ChangeClass::kExact).pass);
  EXPECT_FALSE(gate(ChangeClass::kQuantization).pass);
  spoil(input_.candidate, 5);
  EXPECT_FALSE(gate(ChangeClass::kExact).pass);
}

TEST_F(GateTest, ResolutionIsWhereTwoScoresAreTheSame) {
  input_.candidate.features[0] += 1e-4F;
  input_.candidate.features[1] += 1e-4F;
  params_.scores[1].resolution = 1e-2;
  EXPECT_TRUE(gate(ChangeClass::kQuantization).pass);
  for (float& x : input_.candidate.features) x *= 1.5F;
  EXPECT_FALSE(gate(ChangeClass::kQuantization).pass);
}

TEST_F(GateTest, OracleCeilingHoldsStrictClasses) {
  const ErrorTable table{1, 2, {0.01, 0.05}};
  input_.candidate_steps = &table;
  params_.error_ceiling = 0.02;
  EXPECT_FALSE(gate(ChangeClass::kNumerical).pass);
  EXPECT_TRUE(gate(ChangeClass::kQuantization).pass);
}

TEST_F(GateTest, OneBadImageFailsByItsNumber) {
  Images bad = images_;
  bad[41] = random_images(1, 64, 99).front();
  input_.hard.outputs = input_.candidate_images = bad;
  const GateResult r = gate(ChangeClass::kExact);
  EXPECT_FALSE(r.pass);
  EXPECT_EQ(r.least_psnr_image, 41U);
}

TEST_F(GateTest, SetsThatDoNotPairAreRefused) {
  input_.candidate = scored(399, 4.0, 1);
  EXPECT_THROW(gate(ChangeClass::kExact), InvalidArgument);
}

TEST(HardFailureTest, EachKindIsNamed) {
  const Images good = random_images(8, 16, 1);
  HardFailureInput in;
  in.values_per_output = 16;
  in.outputs = good;
  in.again = good;
  EXPECT_TRUE(hard_failures(in).empty());

  const auto fails = [](HardFailureInput input, const Images& outputs) {
    input.outputs = outputs;
    input.again = {};
    return !hard_failures(input).empty();
  };
  Images bad = good;
  bad[0][3] = std::nanf("");  // first
  EXPECT_TRUE(fails(in, bad));
  bad = good;
  bad[4][0] = std::numeric_limits<float>::infinity();  // middle
  EXPECT_TRUE(fails(in, bad));
  bad = good;
  bad[7].assign(16, 0.5F);  // last
  EXPECT_TRUE(fails(in, bad));
  bad = good;
  bad[2].pop_back();
  EXPECT_TRUE(fails(in, bad));
  bad = good;
  bad[6] = bad[1];
  EXPECT_TRUE(fails(in, bad));

  Images again = good;
  again[5][5] += 1e-6F;
  in.again = again;
  EXPECT_EQ(hard_failures(in).size(), 1U);
  in.declared_nondeterministic = true;
  EXPECT_TRUE(hard_failures(in).empty());
  in.probes = {{"label", good[0], good[0]}, {"seed", good[0], good[1]}};
  ASSERT_EQ(hard_failures(in).size(), 1U);
  EXPECT_NE(hard_failures(in).front().find("label"), std::string::npos);
}

TEST(ChangeClassTest, ChainTakesTheLoosest) {
  EXPECT_EQ(loosest(ChangeClass::kExact, ChangeClass::kQuantization), ChangeClass::kQuantization);
  EXPECT_EQ(change_class_from("numerical"), ChangeClass::kNumerical);
  EXPECT_THROW(change_class_from("Exact"), InvalidArgument);
}

}  // namespace
}  // namespace ditar
