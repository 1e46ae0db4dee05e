// An engine with a known truth, for studying the shipped decision code: ln t = true effect + slow
// AR(1) drift + process effect + iteration noise + spikes + throttling episodes on a simulated
// clock. One simulation per thread; every number comes from the seed.
#pragma once

#include "ditar/coordinator/verdict/decision.h"

#include <cstdint>
#include <random>
#include <vector>

namespace ditar::study {

/// Standard deviations are of ln t; times in seconds.
struct EngineModel {
  double generation_s = 2.0, block_start_s = 8.0;
  double drift_sd = 0.005, drift_time_s = 60.0;
  double process_sd = 0.0015, iteration_sd = 0.003;
  double spike_share = 0.02, spike_mean = 0.03;
  double throttle_every_s = 0.0;  ///< 0: none; episodes of 20..60 s slow all work by throttle_log
  double throttle_log = 0.08;
  double throttle_seen_share = 1.0;  ///< of throttled quads that the guard sees and voids
  bool candidate_throttles = false;  ///< episodes begin only while B runs
};
/// Model of the small CPU lane: 25 ms generations, blocks of 16 quads with about 0.6 % noise.
EngineModel small_cpu_model();

class SimulatedEngine {
 public:
  SimulatedEngine(const EngineModel& model, std::uint64_t seed) : model_(model), random_(seed) {}

  /// `gain` of B over A as a log ratio; 0 for control and calibration blocks.
  BlockRecord run_block(BlockKind kind, double gain, int quads);
  std::uint64_t bits() { return random_(); }

 private:
  void advance(double seconds);
  std::int64_t run_request(double log_cost, bool is_b);
  QuadRecord run_quad(double gain, double process_a, double process_b);
  double normal(double sd) { return std::normal_distribution<double>(0.0, sd)(random_); }
  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  EngineModel model_;
  std::mt19937_64 random_;
  double drift_ = 0.0, throttled_for_s_ = 0.0;
  bool running_b_ = false;
};

/// One experiment to its end as the flow runs it: decide() asks for blocks; an alarm of the control
/// measures the noise anew and replays the test once.
struct TrialResult {
  Decision decision;
  int blocks = 0;         ///< of every kind
  int screen_blocks = 0;  ///< of the last round
  int rounds = 1;
  double sigma0 = 0.0;           ///< that the last round was judged by
  std::vector<double> controls;  ///< window for the next trial
};
struct TrialSetup {
  double gain = 0.0;
  double sigma0 = 0.003;  ///< 0: calibrated on this engine first, as `baseline` does
  int test_index = 1, keeps_before = 0;
  std::vector<double> controls = {};  ///< of earlier trials, oldest first
};
TrialResult run_trial(SimulatedEngine& engine, const TrialSetup& setup,
                      const DecisionParams& params);

/// sigma0 as `baseline` finds it: up to three calibrations; 0 if none was accepted.
double calibrated_sigma0(SimulatedEngine& engine, const DecisionParams& params);

/// Standard deviation of many A/A block values: the truth that a calibration estimates.
double true_block_sd(const EngineModel& model, const DecisionParams& params, std::uint64_t seed);

}  // namespace ditar::study
