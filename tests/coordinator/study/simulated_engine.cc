#include "simulated_engine.h"

#include <algorithm>
#include <cmath>

namespace ditar::study {

EngineModel small_cpu_model() {
  EngineModel model;
  model.generation_s = 0.025;
  model.block_start_s = 0.3;
  model.drift_sd = 0.01;
  model.drift_time_s = 5.0;
  model.process_sd = 0.004;
  model.iteration_sd = 0.01;
  return model;
}

void SimulatedEngine::advance(double seconds) {
  const double keep = std::exp(-seconds / model_.drift_time_s);
  drift_ = keep * drift_ + normal(model_.drift_sd * std::sqrt(1.0 - keep * keep));
  throttled_for_s_ = std::max(0.0, throttled_for_s_ - seconds);
  if (model_.throttle_every_s > 0.0 && throttled_for_s_ == 0.0 &&
      (running_b_ || !model_.candidate_throttles) &&
      uniform() < seconds / model_.throttle_every_s) {
    throttled_for_s_ = 20.0 + 40.0 * uniform();
  }
}

std::int64_t SimulatedEngine::run_request(double log_cost, bool is_b) {
  running_b_ = is_b;
  advance(model_.generation_s);
  running_b_ = false;
  double log_time = log_cost + drift_ + normal(model_.iteration_sd);
  if (uniform() < model_.spike_share) log_time += -model_.spike_mean * std::log1p(-uniform());
  if (throttled_for_s_ > 0.0) log_time += model_.throttle_log;
  return static_cast<std::int64_t>(std::llround(1e9 * model_.generation_s * std::exp(log_time)));
}

QuadRecord SimulatedEngine::run_quad(double gain, double process_a, double process_b) {
  QuadRecord quad;
  quad.order = (random_() >> 63) != 0 ? QuadOrder::kAbba : QuadOrder::kBaab;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool inner = i == 1 || i == 2;
    const bool is_b = inner == (quad.order == QuadOrder::kAbba);
    const bool was_throttled = throttled_for_s_ > 0.0;
    quad.cost[i] = run_request(is_b ? process_b - gain : process_a, is_b);
    if (throttled_for_s_ > 0.0 && !quad.throttled && uniform() < model_.throttle_seen_share) {
      quad.throttled = quad.is_void = true;
      quad.void_cause = "thermal slowdown";
      // An episode that began before this request says nothing about the arm that runs now.
      quad.arm_during_cause = was_throttled ? TimedArm::kBoth : is_b ? TimedArm::kB : TimedArm::kA;
    }
  }
  return quad;
}

BlockRecord SimulatedEngine::run_block(BlockKind kind, double gain, int quads) {
  BlockRecord block;
  block.kind = kind;
  advance(model_.block_start_s);
  const double process_a = normal(model_.process_sd), process_b = normal(model_.process_sd);
  int valid = 0;
  for (int tries = 0; tries < quads + 2 * quads && valid < quads; ++tries) {
    block.quads.push_back(run_quad(gain, process_a, process_b));
    valid += block.quads.back().is_void ? 0 : 1;
  }
  block.is_void = valid < quads;
  if (block.is_void) block.void_cause = "too many void quads";
  return block;
}

namespace {

void run_round(SimulatedEngine& engine, const TrialSetup& setup, const DecisionParams& params,
               TrialResult& result) {
  Evidence evidence;
  evidence.sigma0 = result.sigma0;
  evidence.test_index = setup.test_index;
  evidence.keeps_before = setup.keeps_before;
  evidence.controls_before = result.controls;
  evidence.control_after = control_position(engine.bits(), params);
  result.screen_blocks = 0;
  for (;;) {
    result.decision = decide(evidence, params);
    if (!result.decision.next) break;
    const BlockKind kind = *result.decision.next;
    const double gain = kind == BlockKind::kControl ? 0.0 : setup.gain;
    evidence.blocks.push_back(engine.run_block(kind, gain, params.quads_per_block));
    ++result.blocks;
    result.screen_blocks += kind == BlockKind::kScreen ? 1 : 0;
  }
  for (const double control : result.decision.numbers.controls) result.controls.push_back(control);
}

}  // namespace

double calibrated_sigma0(SimulatedEngine& engine, const DecisionParams& params) {
  for (int round = 0; round < 3; ++round) {
    std::vector<double> values;
    while (static_cast<int>(values.size()) < params.calibration_blocks) {
      const auto value =
          block_value(engine.run_block(BlockKind::kCalibration, 0.0, params.quads_per_block),
                      params.quads_per_block);
      if (value) values.push_back(*value);
    }
    const Calibration calibration = calibrate(values, params);
    if (calibration.accepted) return calibration.sigma0;
  }
  return 0.0;
}

TrialResult run_trial(SimulatedEngine& engine, const TrialSetup& setup,
                      const DecisionParams& params) {
  TrialResult result;
  result.controls = setup.controls;
  result.sigma0 = setup.sigma0 > 0.0 ? setup.sigma0 : calibrated_sigma0(engine, params);
  if (result.sigma0 <= 0.0) {
    result.decision.outcome = Outcome::kInvalid;
    return result;
  }
  run_round(engine, setup, params, result);
  if (result.decision.outcome != Outcome::kQuarantined) return result;
  const double again = calibrated_sigma0(engine, params);
  if (again <= 0.0) return result;
  result.sigma0 = again;
  result.controls.clear();
  result.rounds = 2;
  run_round(engine, setup, params, result);
  return result;
}

double true_block_sd(const EngineModel& model, const DecisionParams& params, std::uint64_t seed) {
  SimulatedEngine engine(model, seed);
  double sum = 0.0, squares = 0.0;
  int n = 0;
  while (n < 3000) {
    const auto value =
        block_value(engine.run_block(BlockKind::kCalibration, 0.0, params.quads_per_block),
                    params.quads_per_block);
    if (!value) continue;
    sum += *value;
    squares += *value * *value;
    ++n;
  }
  return std::sqrt((squares - sum * sum / n) / (n - 1));
}

}  // namespace ditar::study
