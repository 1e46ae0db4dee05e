// The audit of a claimed class against the candidate's parent: single teacher-forced denoiser steps
// and free-running trajectories, both as errors against the oracle. Pure; resampling uses a
// recorded seed. Thread-safe.
#pragma once

#include "ditar/coordinator/quality/change_class.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ditar {

/// Noise from the sample that a single step predicts: eps = (x_t - sqrt(abar) x0) / sqrt(1 - abar).
/// @throws InvalidArgument unless 0 < abar < 1 and sizes agree.
std::vector<double> eps_from_x0(std::span<const float> x_t, std::span<const float> x0,
                                double alpha_bar);

/// Relative L2 against the oracle; row-major (items, steps). Free-running errors have steps = 1.
struct ErrorTable {
  std::size_t items = 0, steps = 0;
  std::vector<double> values;
  double at(std::size_t item, std::size_t step) const { return values[item * steps + step]; }
};

/// Errors of eps of single steps; `inputs`, `oracle` and `answers` hold items x steps tensors,
/// `alpha_bars` one value per step. A clamped answer (|x0| = 1) is compared as it is answered.
/// @throws InvalidArgument if counts differ. Not finite or of another size: infinity.
ErrorTable step_errors(std::span<const std::vector<float>> inputs,
                       std::span<const std::vector<float>> oracle,
                       std::span<const std::vector<float>> answers,
                       std::span<const double> alpha_bars);
/// Errors of whole trajectories.
ErrorTable free_errors(std::span<const std::vector<float>> oracle,
                       std::span<const std::vector<float>> finals);

struct AuditParams {
  double ratio_limit = 0.0953101798;  ///< ln 1.10, on the mean log error ratio
  double worst_slack = 2.0;           ///< an item's error over the worst admissible one
  double error_floor = 1e-9;          ///< errors below are equal
  double step_ceiling = 0.0;          ///< lane's oracle_error_ceiling: numerical, worst single step
  double free_ceiling = 0.0;          ///< mean free-running error; 0: 10 x step_ceiling
  int resamples = 2000;
  std::uint64_t seed = 0;
};

struct AuditInput {
  bool bits_equal = false;  ///< every output of the candidate has the parent's bits
  ErrorTable parent_steps, candidate_steps, parent_free, candidate_free;
  std::vector<ErrorTable> variant_steps, variant_free;  ///< admissible variants of the parent
};

struct AuditResult {
  ChangeClass shown = ChangeClass::kApproximate;  ///< kApproximate: or quantization
  bool claim_holds = false;
  std::vector<std::string> reasons;  ///< why the class is not stricter, one sentence each
  double step_ratio = 0.0, step_ratio_upper = 0.0;  ///< mean log ratio and its upper 95 % bound
  double free_ratio = 0.0, free_ratio_upper = 0.0;
  double step_limit = 0.0, free_limit = 0.0;  ///< ratio_limit over the worst variant
  std::vector<double> ratio_by_step;          ///< mean log ratio, timestep by timestep
  std::vector<double> ratio_by_step_lower;    ///< lower bound, 95 % over all timesteps together
  double worst_step_error = 0.0, mean_free_error = 0.0;
  double worst_over_admissible = 0.0;  ///< largest error / worst admissible error of its timestep
};

/// @throws InvalidArgument if the tables' shapes differ or are empty.
AuditResult audit_class(ChangeClass claimed, const AuditInput& input, const AuditParams& params);

}  // namespace ditar
