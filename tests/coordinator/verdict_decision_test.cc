#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/decision.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ditar {
namespace {

BlockRecord block(BlockKind kind, double gain) {
  QuadRecord quad;
  const auto b = std::llround(1e12 * std::exp(-gain));
  quad.cost = {1000000000000, b, b, 1000000000000};
  BlockRecord record;
  record.kind = kind;
  record.quads.assign(4, quad);
  return record;
}

BlockRecord void_block(TimedArm arm, bool throttled) {
  BlockRecord record = block(BlockKind::kScreen, 0.0);
  for (QuadRecord& quad : record.quads) {
    quad.is_void = true;
    quad.throttled = throttled;
    quad.arm_during_cause = arm;
  }
  return record;
}

Evidence evidence(double sigma0 = 0.003) {
  Evidence e;
  e.sigma0 = sigma0;
  return e;
}

/// Feeds what decide() asks for until it stops asking.
Decision play(Evidence& e, double screen_gain, double confirm_gain, double control = 0.0) {
  const DecisionParams params;
  for (;;) {
    const Decision d = decide(e, params);
    if (!d.next) return d;
    const double gain = *d.next == BlockKind::kControl   ? -control
                        : *d.next == BlockKind::kConfirm ? confirm_gain
                                                         : screen_gain;
    e.blocks.push_back(block(*d.next, gain));
  }
}

TEST(DecideTest, GainIsScreenedThenConfirmedThenKept) {
  Evidence e = evidence();
  const Decision d = play(e, 0.02, 0.018);
  EXPECT_EQ(d.outcome, Outcome::kKeep);
  EXPECT_EQ(d.numbers.screen_blocks, 4);
  EXPECT_EQ(d.numbers.confirm_blocks, 10);
  EXPECT_EQ(d.numbers.controls.size(), 1U);
  EXPECT_NEAR(d.numbers.effect.estimate, 0.018, 1e-9);
  EXPECT_EQ(d.numbers.confirm_p, 1.0 / 1024);
  EXPECT_FALSE(d.why.empty());
  EXPECT_FALSE(d.would_change.empty());
}

TEST(DecideTest, ScreenAloneNeverKeeps) {
  Evidence e = evidence();
  const Decision d = play(e, 0.02, 0.0);
  EXPECT_EQ(d.outcome, Outcome::kDiscard);
  EXPECT_EQ(d.reason, DiscardReason::kNotConfirmed);
}

TEST(DecideTest, SlowerAndFutileAreToldApart) {
  Evidence slow = evidence();
  EXPECT_EQ(play(slow, -0.02, 0.0).reason, DiscardReason::kSlower);
  EXPECT_EQ(slow.blocks.size(), 3U);  // control and two screen blocks
  Evidence flat = evidence(0.001);
  EXPECT_EQ(play(flat, 0.0, 0.0).reason, DiscardReason::kFutile);
}

TEST(DecideTest, UndecidedIsResumedWithinTheBudgetThenDiscarded) {
  Evidence e = evidence(0.006);
  const DecisionParams params;
  e.blocks.push_back(block(BlockKind::kControl, 0.0));
  for (int i = 0; i < params.max_blocks; ++i) {
    e.blocks.push_back(block(BlockKind::kScreen, i % 2 == 0 ? 0.004 : 0.003));
  }
  const Decision open = decide(e, params);
  EXPECT_EQ(open.outcome, Outcome::kUnresolved);
  EXPECT_EQ(open.next, BlockKind::kScreen);
  const Decision end = play(e, 0.0031, 0.0);
  EXPECT_EQ(end.outcome, Outcome::kDiscard);
  EXPECT_EQ(end.reason, DiscardReason::kUnresolved);
  EXPECT_EQ(end.numbers.screen_blocks, params.budget_blocks);
}

TEST(DecideTest, ControlAlarmQuarantines) {
  Evidence e = evidence();
  const Decision d = play(e, 0.02, 0.02, 0.016);
  EXPECT_EQ(d.outcome, Outcome::kQuarantined);
  EXPECT_TRUE(d.numbers.control.alarm);
}

TEST(DecideTest, MachineFaultsAreInvalidAndThrottlingByTheCandidateIsNot) {
  Evidence e = evidence();
  e.blocks.assign(3, void_block(TimedArm::kNone, false));
  EXPECT_EQ(decide(e, DecisionParams{}).outcome, Outcome::kInvalid);
  e.blocks.assign(3, void_block(TimedArm::kB, true));
  const Decision d = decide(e, DecisionParams{});
  EXPECT_EQ(d.outcome, Outcome::kDiscard);
  EXPECT_EQ(d.reason, DiscardReason::kThrottling);
  e.blocks.assign(3, void_block(TimedArm::kA, true));
  EXPECT_EQ(decide(e, DecisionParams{}).outcome, Outcome::kInvalid);
  e.blocks.assign(2, void_block(TimedArm::kNone, false));
  EXPECT_EQ(decide(e, DecisionParams{}).outcome, Outcome::kMeasure);
}

TEST(DecideTest, BlocksAfterTheStopChangeNothing) {
  Evidence e = evidence();
  e.blocks.push_back(block(BlockKind::kControl, 0.0));
  e.blocks.push_back(block(BlockKind::kScreen, -0.02));
  e.blocks.push_back(block(BlockKind::kScreen, -0.02));
  const Decision before = decide(e, DecisionParams{});
  for (int i = 0; i < 8; ++i) e.blocks.push_back(block(BlockKind::kScreen, 0.2));
  const Decision after = decide(e, DecisionParams{});
  EXPECT_EQ(before.outcome, Outcome::kDiscard);
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_EQ(after.numbers.log_e_slower, before.numbers.log_e_slower);
  EXPECT_EQ(after.why, before.why);
}

TEST(DecideTest, ExtremeAndEqualTimesGiveNumbers) {
  Evidence e = evidence(1e-9);
  EXPECT_EQ(play(e, 20.0, 20.0).outcome, Outcome::kKeep);
  Evidence equal = evidence(1e-9);
  const Decision d = play(equal, 0.0, 0.0);
  EXPECT_EQ(d.outcome, Outcome::kDiscard);
  EXPECT_TRUE(std::isfinite(d.numbers.log_e_futile));
}

TEST(DecideTest, RefusesEvidenceThatNoRunProduces) {
  Evidence e = evidence(0.0);
  EXPECT_THROW(decide(e, DecisionParams{}), DataError);
  e = evidence(std::nan(""));
  EXPECT_THROW(decide(e, DecisionParams{}), DataError);
  e = evidence();
  e.blocks.push_back(block(BlockKind::kConfirm, 0.1));
  EXPECT_THROW(decide(e, DecisionParams{}), DataError);
  e.blocks.assign(1, block(BlockKind::kCalibration, 0.1));
  EXPECT_THROW(decide(e, DecisionParams{}), DataError);
}

TEST(DecideTest, RefusesParametersThatCannotConfirm) {
  DecisionParams params;
  params.confirm_blocks = 7;  // 1/128 > 0.005
  EXPECT_THROW(check(params), ConfigError);
  params.confirm_blocks = 8;
  EXPECT_NO_THROW(check(params));
  EXPECT_NO_THROW(check(quick_profile()));
}

TEST(HeadToHeadTest, ReportsTheEffectOfFreshBlocks) {
  const std::vector<BlockRecord> blocks(10, block(BlockKind::kHeadToHead, 0.05));
  const HeadToHead h = head_to_head(blocks, DecisionParams{});
  EXPECT_NEAR(h.effect.estimate, 0.05, 1e-9);
  EXPECT_EQ(h.p, 1.0 / 1024);
  EXPECT_THROW(head_to_head({}, DecisionParams{}), DataError);
}

}  // namespace
}  // namespace ditar
