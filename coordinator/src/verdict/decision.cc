#include "ditar/coordinator/verdict/decision.h"

#include "ditar/config/error.h"
#include "verdict/decision_text.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr int kFutilityFromBlock = 2;
constexpr int kLeastVoidBlocks = 3;

enum class ScreenState { kOpen, kPassed, kFutile };

void collect(const Evidence& evidence, const DecisionParams& params, DecisionNumbers& n) {
  for (const BlockRecord& block : evidence.blocks) {
    if (block.kind == BlockKind::kCalibration || block.kind == BlockKind::kHeadToHead) {
      throw DataError("a " + std::string(to_string(block.kind)) +
                      " block lies among an experiment's blocks");
    }
    for (const QuadRecord& quad : block.quads) {
      if (!quad.is_void || !quad.throttled || block.kind == BlockKind::kControl) continue;
      n.throttled_a += quad.arm_during_cause == TimedArm::kA ? 1 : 0;
      n.throttled_b += quad.arm_during_cause == TimedArm::kB ? 1 : 0;
    }
    const std::optional<double> value = block_value(block, params.quads_per_block);
    if (!value) {
      ++n.void_blocks;
    } else if (block.kind == BlockKind::kControl) {
      n.controls.push_back(*value);
    } else {
      (block.kind == BlockKind::kScreen ? n.screen_gains : n.confirm_gains).push_back(-*value);
    }
  }
}

/// Walks the screen block by block, so that what came after its stop cannot change it.
ScreenState run_screen(const DecisionParams& params, DecisionNumbers& n) {
  const double bound = params.clip_sigmas * n.sigma0;
  const auto clip = [bound](double x) { return std::clamp(x, -bound, bound); };
  double gain_sum = 0.0, futile_sum = 0.0, slower_sum = 0.0;
  for (std::size_t k = 0; k < n.screen_gains.size(); ++k) {
    const int blocks = static_cast<int>(k) + 1;
    const double gain = n.screen_gains[k];
    gain_sum += clip(gain);
    futile_sum += clip(n.least_gain - gain);
    slower_sum += clip(-gain);
    n.screen_blocks = blocks;
    n.log_e_gain = log_e_value(gain_sum, blocks, n.sigma0, n.tau);
    n.log_e_futile = log_e_value(futile_sum, blocks, n.sigma0, n.tau);
    n.log_e_slower = log_e_value(slower_sum, blocks, n.sigma0, n.tau);
    const std::span<const double> seen(n.screen_gains.data(), k + 1);
    n.screen_median = median(seen);
    if (blocks >= params.min_blocks && n.log_e_gain >= n.log_e_needed &&
        n.screen_median >= n.least_gain) {
      return ScreenState::kPassed;
    }
    if (blocks >= kFutilityFromBlock && n.log_e_futile >= n.log_e_futile_needed) {
      return ScreenState::kFutile;
    }
  }
  return ScreenState::kOpen;
}

void finish(Decision& d, Outcome outcome, DiscardReason reason = DiscardReason::kNone) {
  d.outcome = outcome;
  d.reason = reason;
}

void decide_confirmation(Decision& d, const DecisionParams& params) {
  DecisionNumbers& n = d.numbers;
  d.phase = DecisionPhase::kConfirm;
  const auto wanted = static_cast<std::size_t>(params.confirm_blocks);
  const std::size_t have = std::min(wanted, n.confirm_gains.size());
  n.confirm_blocks = static_cast<int>(have);
  const std::span<const double> gains(n.confirm_gains.data(), have);
  if (have > 0) {
    n.confirm_p = sign_flip_p(gains);
    n.effect = hodges_lehmann(gains);
  }
  if (have < wanted) {
    d.next = BlockKind::kConfirm;
  } else if (n.confirm_p <= params.confirm_p && n.effect.estimate >= n.least_gain) {
    finish(d, Outcome::kKeep);
  } else {
    finish(d, Outcome::kDiscard, DiscardReason::kNotConfirmed);
  }
}

void decide_screen(Decision& d, const Evidence& evidence, const DecisionParams& params) {
  DecisionNumbers& n = d.numbers;
  const ScreenState state = run_screen(params, n);
  if (state != ScreenState::kPassed && !n.confirm_gains.empty()) {
    throw DataError("confirming blocks were measured although the screen had not passed");
  }
  if (n.screen_blocks > 0) {
    n.effect = hodges_lehmann(
        std::span<const double>(n.screen_gains.data(), static_cast<std::size_t>(n.screen_blocks)));
  }
  if (state == ScreenState::kFutile) {
    const bool slower = n.log_e_slower >= n.log_e_futile_needed;
    return finish(d, Outcome::kDiscard, slower ? DiscardReason::kSlower : DiscardReason::kFutile);
  }
  // No KEEP without a control block of its own.
  if (n.controls.empty() &&
      (state == ScreenState::kPassed || n.screen_blocks >= evidence.control_after)) {
    d.next = BlockKind::kControl;
  } else if (state == ScreenState::kPassed) {
    decide_confirmation(d, params);
  } else if (n.screen_blocks >= params.budget_blocks) {
    finish(d, Outcome::kDiscard, DiscardReason::kUnresolved);
  } else {
    d.next = BlockKind::kScreen;
    if (n.screen_blocks >= params.max_blocks) finish(d, Outcome::kUnresolved);
  }
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kMeasure:
      return "measure";
    case Outcome::kKeep:
      return "KEEP";
    case Outcome::kDiscard:
      return "DISCARD";
    case Outcome::kUnresolved:
      return "UNRESOLVED";
    case Outcome::kQuarantined:
      return "QUARANTINED";
    case Outcome::kInvalid:
      return "INVALID";
  }
  return "INVALID";
}

std::string_view to_string(DiscardReason reason) noexcept {
  switch (reason) {
    case DiscardReason::kNone:
      return "";
    case DiscardReason::kFutile:
      return "futile";
    case DiscardReason::kSlower:
      return "slower";
    case DiscardReason::kNotConfirmed:
      return "not_confirmed";
    case DiscardReason::kThrottling:
      return "throttling";
    case DiscardReason::kUnresolved:
      return "unresolved";
  }
  return "";
}

Decision decide(const Evidence& evidence, const DecisionParams& params) {
  check(params);
  if (!(evidence.sigma0 > 0.0) || !std::isfinite(evidence.sigma0)) {
    throw DataError("sigma0 of the evidence is not above 0; calibrate with `dit-ar baseline`");
  }
  Decision d;
  DecisionNumbers& n = d.numbers;
  n.sigma0 = std::max(evidence.sigma0, params.sigma_floor);
  n.tau = std::max(2.0 * n.sigma0, params.tau_floor);
  n.least_gain = std::max(params.min_effect, 0.5 * n.sigma0);
  n.alpha_i = e_lond_alpha(params.alpha, evidence.test_index, evidence.keeps_before);
  n.log_e_needed = -std::log(n.alpha_i);
  n.log_e_futile_needed = -std::log(params.beta);
  collect(evidence, params, n);

  std::vector<double> controls = evidence.controls_before;
  controls.insert(controls.end(), n.controls.begin(), n.controls.end());
  n.control = control_alarm(controls, n.sigma0);
  n.throttle_p = binomial_upper_tail(n.throttled_b, n.throttled_a + n.throttled_b, 0.5);
  const auto valid =
      static_cast<int>(n.screen_gains.size() + n.confirm_gains.size() + n.controls.size());

  if (n.control.alarm) {
    finish(d, Outcome::kQuarantined);
  } else if (n.throttle_p < params.imbalance_p) {
    finish(d, Outcome::kDiscard, DiscardReason::kThrottling);
  } else if (n.void_blocks >= kLeastVoidBlocks &&
             n.void_blocks > params.void_block_limit * (valid + n.void_blocks)) {
    finish(d, Outcome::kInvalid);
  } else {
    decide_screen(d, evidence, params);
  }
  explain(d, params);
  return d;
}

int control_position(std::uint64_t random_bits, const DecisionParams& params) {
  check(params);
  return static_cast<int>(random_bits % static_cast<std::uint64_t>(params.min_blocks));
}

double speedup_percent(double gain) { return 100.0 * std::expm1(gain); }

HeadToHead head_to_head(std::span<const BlockRecord> blocks, const DecisionParams& params) {
  check(params);
  HeadToHead result;
  std::vector<double> gains;
  for (const BlockRecord& block : blocks) {
    const std::optional<double> value = block_value(block, params.quads_per_block);
    if (value) {
      gains.push_back(-*value);
    } else {
      ++result.void_blocks;
    }
  }
  if (gains.empty()) throw DataError("no valid block in the head-to-head; measure it again");
  if (gains.size() > 22) gains.resize(22);
  result.blocks = static_cast<int>(gains.size());
  result.effect = hodges_lehmann(gains);
  result.p = sign_flip_p(gains);
  return result;
}

}  // namespace ditar
