#include "verdict/decision_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace ditar {
namespace {

std::string blocks_text(int n) { return std::to_string(n) + (n == 1 ? " block" : " blocks"); }

void explain_discard(Decision& d, const DecisionParams& params) {
  const DecisionNumbers& n = d.numbers;
  const std::string seen = percent_text(n.effect.estimate) + " over " +
                           blocks_text(n.screen_blocks) + ", least gain " +
                           percent_text(n.least_gain);
  d.would_change = "a true gain above " + percent_text(n.least_gain);
  switch (d.reason) {
    case DiscardReason::kSlower:
      d.why = "the candidate is slower: " + seen + ", ln E(slower) " + number_text(n.log_e_slower) +
              " reached " + number_text(n.log_e_futile_needed);
      break;
    case DiscardReason::kFutile:
      d.why = "the gain is below the least that is kept: " + seen + ", ln E(futile) " +
              number_text(n.log_e_futile) + " reached " + number_text(n.log_e_futile_needed);
      break;
    case DiscardReason::kNotConfirmed:
      d.why = "fresh blocks did not confirm the screen: gain " + percent_text(n.effect.estimate) +
              " (needs " + percent_text(n.least_gain) + "), sign-flip p " +
              number_text(n.confirm_p) + " (needs " + number_text(params.confirm_p) + ")";
      d.would_change = "a gain that repeats in fresh blocks: p at most " +
                       number_text(params.confirm_p) + " and at least " +
                       percent_text(n.least_gain);
      break;
    case DiscardReason::kThrottling:
      d.why = "the candidate triggers throttling: " + std::to_string(n.throttled_b) +
              " throttled quads while it ran, " + std::to_string(n.throttled_a) +
              " while the best ran (p " + number_text(n.throttle_p) + ")";
      d.would_change = "throttling as rare as the best's";
      break;
    case DiscardReason::kUnresolved:
      d.why = "undecided within the budget of " + blocks_text(params.budget_blocks) + ": " + seen +
              ", ln E " + number_text(n.log_e_gain) + " of " + number_text(n.log_e_needed);
      d.would_change =
          "a larger gain, or a quieter machine (block noise " + percent_text(n.sigma0) + ")";
      break;
    case DiscardReason::kNone:
      break;
  }
}

}  // namespace

std::string percent_text(double log_ratio) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", speedup_percent(log_ratio));
  return text.data();
}

std::string number_text(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

void explain(Decision& d, const DecisionParams& params) {
  const DecisionNumbers& n = d.numbers;
  switch (d.outcome) {
    case Outcome::kMeasure:
      d.why = d.phase == DecisionPhase::kConfirm
                  ? "the screen passed; " + blocks_text(params.confirm_blocks - n.confirm_blocks) +
                        " of the confirmation to go"
                  : "ln E " + number_text(n.log_e_gain) + " of " + number_text(n.log_e_needed) +
                        " after " + blocks_text(n.screen_blocks);
      break;
    case Outcome::kKeep:
      d.why = "confirmed on fresh blocks: gain " + percent_text(n.effect.estimate) + " [" +
              percent_text(n.effect.low) + ", " + percent_text(n.effect.high) + "], sign-flip p " +
              number_text(n.confirm_p) + ", ln E of the screen " + number_text(n.log_e_gain) +
              " (needed " + number_text(n.log_e_needed) + ")";
      d.would_change = "a confirmed gain below " + percent_text(n.least_gain) + " or a p above " +
                       number_text(params.confirm_p);
      break;
    case Outcome::kDiscard:
      explain_discard(d, params);
      break;
    case Outcome::kUnresolved:
      d.why = "undecided after " + blocks_text(n.screen_blocks) + ": ln E " +
              number_text(n.log_e_gain) + " of " + number_text(n.log_e_needed) + ", gain " +
              percent_text(n.effect.estimate);
      d.would_change = "more blocks, up to " + std::to_string(params.budget_blocks);
      break;
    case Outcome::kQuarantined:
      d.why = "A against itself differs by more than the calibrated noise: chi-square " +
              number_text(n.control.chi_square) + " (limit " + number_text(n.control.limit) +
              "), worst " + number_text(n.control.worst) + " sigma0 (limit 5)";
      d.would_change = "a new calibration of this machine";
      break;
    case Outcome::kInvalid:
      d.why = "the machine is unstable: " + blocks_text(n.void_blocks) + " void beside " +
              blocks_text(n.screen_blocks + n.confirm_blocks) + " valid";
      d.would_change = "fewer void blocks than " + number_text(params.void_block_limit) +
                       " of all; see the causes in the record";
      break;
  }
}

}  // namespace ditar
