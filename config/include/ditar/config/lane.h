// One lane: one product metric on one task on one kind of hardware, with everything a verdict on it
// leans on. Plain values read from autoresearch.json; no behaviour, so free to share by threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

/// A score of the generated set that a candidate must hold. `margin` is in the score's own unit and
/// counts in the bad direction; classes other than approximate may not use it up (R3, R4).
struct RequiredScore {
  std::string name;               ///< "accuracy", "frechet" or "kernel_distance"
  std::string better = "higher";  ///< "higher" or "lower"
  double margin = 0.0;
};

/// A figure that may not get worse than `max_ratio` times the original's.
struct GuardMetric {
  std::string name;  ///< "peak_memory", "p99_latency" or "load_time"
  double max_ratio = 1.0;
};

/// Number of items of each part of the quality gate.
struct SuiteSizes {
  int oracle_items = 0;        ///< single-step oracle comparisons
  int free_running_items = 0;  ///< whole trajectories against the oracle's
  int fidelity_images = 0;     ///< images compared with the original's
  int score_images = 0;        ///< generated set behind the required scores, fixed suite
  int fresh_score_images = 0;  ///< the same on fresh seeds
};

/// Parameters of the speed decision; fractions, not percent.
struct DecisionSettings {
  int quads_per_block = 4;
  int min_blocks = 4;
  int max_blocks = 10;     ///< of the screen before it counts as unresolved
  int budget_blocks = 20;  ///< of the screen in all; then DISCARD(unresolved)
  int confirm_blocks = 10;
  int calibration_blocks = 20;
  double alpha = 0.05;            ///< campaign-wide error
  double beta = 0.1;              ///< futility
  double confirm_p = 0.005;       ///< sign-flip test on the confirming blocks
  double min_effect = 0.003;      ///< least gain worth keeping, as a log ratio
  double sigma_limit = 0.05;      ///< no noise above this is judged by: RETRY, machine too noisy
  double resolution = 1e-4;       ///< what the meter can tell apart; no noise is believed below it
  double void_block_limit = 0.3;  ///< share of void blocks above which the machine is at fault
};

struct LaneConfig {
  std::string name;
  std::string summary;  ///< one line for a person
  std::string metric =
      "latency";  ///< "latency" (s of one request), "throughput" (images/s), "peak_memory" (bytes)
  std::string hardware = "cpu";  ///< "cpu", or a GPU's whole product name ("NVIDIA RTX A5500")

  std::string model_path;    ///< relative to the repository root
  std::string model_sha256;  ///< 64 hex digits
  std::string model_preset;  ///< "dit-xl2-256", ...: weights made from a seed; empty: read the file
  std::string judge_path;    ///< empty where the lane has no required scores
  std::string judge_sha256;
  std::int64_t channels = 0, height = 0, width = 0;  ///< of the denoised latent (or pixels)
  std::int64_t image_height = 0, image_width = 0;    ///< of the product, pixels
  int classes = 0;                                   ///< labels are 0 .. classes-1
  int images = 1;                                    ///< of one request

  std::string sampler = "ddim";  ///< "ddpm", "ddim" or "dpmpp2m"
  int steps = 0;
  double guidance = 1.0;
  int guided_channels = 0;         ///< 0: all
  std::string precision = "fp32";  ///< "fp32", "tf32", "fp16" or "bf16"

  int ranks = 1;
  int gpus = 0;
  int threads = 1;                    ///< OpenMP threads per rank
  std::int64_t memory_cap_bytes = 0;  ///< per GPU; 0: none

  double oracle_error_ceiling = 0.0;  ///< relative L2 of one denoiser step
  std::vector<std::string> allowed_classes;
  std::vector<RequiredScore> required_scores;
  std::vector<GuardMetric> guard_metrics;
  SuiteSizes suite;
  DecisionSettings decision;
};

}  // namespace ditar
