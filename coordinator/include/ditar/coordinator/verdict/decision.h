// The speed decision: one pure function from timed blocks and locked parameters to what comes next
// or what the verdict is, with every number it used. No clock, no files, no state: the same
// evidence gives the same bits on any machine. Thread-safe.
#pragma once

#include "ditar/coordinator/verdict/calibration.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "ditar/coordinator/verdict/timing_record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// Locked with the lane. Effects are log ratios (0.003 is about 0.3 %).
struct DecisionParams {
  int quads_per_block = 4;  ///< valid quads that a block needs
  int min_blocks = 4;       ///< of the screen, before it may pass
  int max_blocks = 10;      ///< then UNRESOLVED
  int budget_blocks = 20;   ///< then DISCARD(unresolved); >= max_blocks
  int confirm_blocks = 10;  ///< fresh, never pooled with the screen; <= 22
  int calibration_blocks = 20;
  double alpha = 0.05;  ///< of the whole campaign
  double beta = 0.1;    ///< of the futility stop, from the second block
  double confirm_p = 0.005;
  double min_effect = 0.003;  ///< least gain is max(min_effect, sigma0 / 2)
  double clip_sigmas = 4.0;
  double tau_floor = 0.005;  ///< tau = max(2 sigma0, tau_floor)
  double void_block_limit = 0.3;
  double imbalance_p = 0.01;
  double sigma_floor = 1e-4;  ///< no machine is believed quieter than this
  double sigma_limit = 0.05;  ///< no calibration noisier than this is accepted
};
/// @throws ConfigError naming the parameter that is out of its range.
void check(const DecisionParams& params);
/// The profile of cpu-mnist: 16 quads of about 25 ms requests in a block of about 2 s, so that the
/// longest way (14 + 1 + 10 blocks) stays below a minute. Ten confirming blocks, not eight: with
/// eight, p <= 0.005 asks for all gains above 0 (1/256), with ten for 5 of 1024 patterns. Rates:
/// scripts/study/run.sh.
DecisionParams quick_profile();

struct Evidence {
  double sigma0 = 0.0;    ///< Calibration::sigma0 of this machine
  int test_index = 1;     ///< of the campaign, from 1; consumed when its first block starts
  int keeps_before = 0;   ///< KEEPs of the campaign before this test
  int control_after = 0;  ///< the control block runs after this many valid screen blocks
  std::vector<double> controls_before;  ///< values of earlier control blocks, oldest first
  std::vector<BlockRecord> blocks;      ///< of this experiment, in the order measured
};

enum class Outcome : std::uint8_t {
  kMeasure,  ///< measure a block of Decision::next
  kKeep,
  kDiscard,      ///< see DiscardReason
  kUnresolved,   ///< max_blocks reached; a block of Decision::next resumes it
  kQuarantined,  ///< the A/A control says that sigma0 no longer holds: calibrate anew
  kInvalid,      ///< the machine was at fault
};
enum class DiscardReason : std::uint8_t {
  kNone,
  kFutile,
  kSlower,
  kNotConfirmed,
  kThrottling,
  kUnresolved
};
enum class DecisionPhase : std::uint8_t { kScreen, kConfirm };
std::string_view to_string(Outcome outcome) noexcept;       ///< "measure", "KEEP", "DISCARD", ...
std::string_view to_string(DiscardReason reason) noexcept;  ///< "futile", "not_confirmed", ...

/// Every number behind a decision. Gains are -d: above 0 where the candidate is faster.
struct DecisionNumbers {
  double sigma0 = 0.0, tau = 0.0, least_gain = 0.0, alpha_i = 0.0;
  int screen_blocks = 0, confirm_blocks = 0, void_blocks = 0;
  std::vector<double> screen_gains, confirm_gains, controls;  ///< unclipped; controls of this one
  double log_e_gain = 0.0, log_e_futile = 0.0, log_e_slower = 0.0;
  double log_e_needed = 0.0, log_e_futile_needed = 0.0;  ///< ln(1/alpha_i), ln(1/beta)
  double screen_median = 0.0;                            ///< "selected": not an unbiased estimate
  double confirm_p = 1.0;
  HodgesLehmann effect;  ///< of the confirming blocks; of the screen where there are none
  int throttled_a = 0, throttled_b = 0;
  double throttle_p = 1.0;
  ControlAlarm control;
};

struct Decision {
  Outcome outcome = Outcome::kMeasure;
  DiscardReason reason = DiscardReason::kNone;
  DecisionPhase phase = DecisionPhase::kScreen;
  std::optional<BlockKind> next;  ///< for kMeasure and kUnresolved
  std::string why;                ///< one sentence with the deciding numbers
  std::string would_change;       ///< what would have changed it, one sentence
  DecisionNumbers numbers;
};

/// @throws ConfigError for bad parameters, DataError for evidence that no run can produce (sigma0
/// not positive, cost not positive, calibration block among the blocks).
Decision decide(const Evidence& evidence, const DecisionParams& params);

/// Where the control block goes: uniform over 0 .. min_blocks-1 from 64 recorded random bits.
int control_position(std::uint64_t random_bits, const DecisionParams& params);

/// Speed-up in percent of a gain: 100 (e^gain - 1).
double speedup_percent(double gain);

/// Original against best on fresh blocks: the only cumulative speed-up that may be printed.
struct HeadToHead {
  int blocks = 0, void_blocks = 0;
  HodgesLehmann effect;
  double p = 1.0;  ///< sign-flip test against "no faster"
};
/// @throws DataError if no block is valid.
HeadToHead head_to_head(std::span<const BlockRecord> blocks, const DecisionParams& params);

}  // namespace ditar
