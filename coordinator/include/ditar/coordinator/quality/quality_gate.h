// The gate of the product against the ORIGINAL baseline: hard failures, fidelity, required scores
// on the fixed suite and on fresh seeds, by class. Pure; resampling uses a recorded seed.
// Thread-safe.
#pragma once

#include "ditar/coordinator/quality/change_class.h"
#include "ditar/coordinator/quality/hard_failures.h"
#include "ditar/coordinator/quality/judge.h"
#include "ditar/coordinator/quality/oracle_audit.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ditar {

struct ScoreRule {
  std::string name;  ///< see required_score()
  bool higher_is_better = true;
  double margin = 0.0;      ///< approximate only
  double resolution = 0.0;  ///< values closer than this are the same score; locked with the lane
};

struct GateParams {
  std::vector<ScoreRule> scores;
  double exact_psnr_floor = 25.0;  ///< dB to the original's image, exact and numerical, each image
  double loose_psnr_floor = 4.0;   ///< the same for quantization and approximate
  double error_ceiling = 0.0;  ///< lane's oracle_error_ceiling, worst single step; exact, numerical
  double sign_test_p = 0.05;
  double item_margin_sd = 0.05;  ///< non-inferiority margin in standard deviations of the original
  int resamples = 200;
  std::uint64_t seed = 0;
};

struct GateInput {
  ChangeClass chain = ChangeClass::kExact;  ///< loosest class of the kept chain and the candidate
  HardFailureInput hard;
  std::span<const std::vector<float>> original_images, candidate_images;  ///< pairs, fidelity
  const ErrorTable* candidate_steps = nullptr;  ///< against the oracle; null: not measured
  const RealReference* reference = nullptr;     ///< null: the lane has no required scores
  ScoredSet original, candidate;                ///< fixed suite
  std::vector<ScoredSet> variants;            ///< admissible variants of the original, fixed suite
  ScoredSet original_fresh, candidate_fresh;  ///< same fresh seeds; may be empty
};

struct ScoreResult {
  ScoreRule rule;
  double original = 0.0, candidate = 0.0;
  double worsening = 0.0;        ///< fixed suite, above 0 where the candidate is worse
  double allowed = 0.0;          ///< envelope, zero or margin
  double fresh_worsening = 0.0;  ///< 0 where there is no fresh set
  double low = 0.0, high = 0.0;  ///< 90 % bootstrap interval of the worsening (for the TOST)
  bool pass = false;
};

struct GateResult {
  bool pass = false;
  bool broken = false;               ///< a hard failure: no class explains it
  std::vector<std::string> reasons;  ///< one sentence for each failed check
  std::vector<ScoreResult> scores;
  double least_psnr = 0.0, mean_psnr = 0.0, max_error = 0.0;
  std::size_t least_psnr_image = 0;
  double worst_step_error = 0.0;
  int wins = 0, losses = 0;  ///< items whose label is more / less probable than the original's
  double sign_p = 1.0;
  double item_change = 0.0, item_change_lower = 0.0, item_margin = 0.0;
};

/// @throws InvalidArgument if sets that must pair up do not.
GateResult run_quality_gate(const GateInput& input, const GateParams& params);

/// The gate tried on planted outputs before it is trusted.
struct SelfTestCase {
  std::string name;
  bool must_pass = false, passed = false;
  std::vector<std::string> reasons;
  bool as_expected() const noexcept { return must_pass == passed; }
};
struct SelfTestInput {
  std::span<const std::vector<float>> original;           ///< baseline's images, 28 x 28
  std::vector<std::vector<std::vector<float>>> variants;  ///< admissible variants of them
  std::vector<std::int32_t> labels;                       ///< of the images
};
/// Variants must pass; zeros, constants, the previous output, noise, a blurred set, swapped labels
/// and one bad image in 64 must fail, for `chain`. @throws InvalidArgument for fewer than 64
/// images.
std::vector<SelfTestCase> run_gate_self_test(const SelfTestInput& input, const Judge& judge,
                                             ChangeClass chain, const GateParams& params);

}  // namespace ditar
