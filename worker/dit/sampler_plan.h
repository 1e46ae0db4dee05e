// Turns a RequestSchedule into one set of scalars per step, in FP64. The device then only does
// affine work. Pure; thread-safe.
//
//   DDIM       x' = keep * x + eps_scale * eps + noise_scale * z
//   DDPM       x' = keep * x + eps_scale * eps + [k is not last] * exp(logvar / 2) * z
//   DPM++ 2M   x0 = x0_keep * x + x0_eps * eps;  x' = keep * x + eps_scale * eps + history *
//   x0_prev
//              (the terms of this step's x0 are folded into keep and eps_scale)
#pragma once

#include "ditar/worker/engine.h"

#include <vector>

namespace ditar {

/// How DDPM's variance is found: learned_range interpolates min_log and max_log by the model's
/// second output (Nichol & Dhariwal 2021, eq. 15); fixed_small takes the posterior variance.
enum class VarianceKind { kNone, kLearnedRange, kFixedSmall };

struct SamplerStep {
  std::int32_t timestep = 0;    ///< 0..999, what the model is told
  double alpha_bar = 0.0;       ///< at this timestep
  double alpha_bar_next = 1.0;  ///< after the step; 1 after the last
  double keep = 1.0;
  double eps_scale = 0.0;
  double history = 0.0;
  double noise_scale = 0.0;  ///< DDIM with eta > 0, and DDPM with kFixedSmall; 0 on the last step
  double x0_keep = 0.0;      ///< x0 = x0_keep * x + x0_eps * eps
  double x0_eps = 0.0;
  double min_log = 0.0;  ///< log of the clipped posterior variance (DDPM)
  double max_log = 0.0;  ///< log beta (DDPM)
};

struct SamplerPlan {
  std::vector<SamplerStep> steps;
  VarianceKind variance = VarianceKind::kNone;
  bool draws_noise = false;
  bool keeps_history = false;  ///< the next step needs this step's x0
};

/// @param learned_variance  the model emits a variance logit per channel
/// @param parity  kOfficial or kDiffusers (which discards the learned variance)
/// @throws InvalidArgument if the timesteps are empty, not descending or outside 0..999, if eta is
///   negative or given to a sampler without it, or if DDPM in official parity meets a model without
///   learned variance.
SamplerPlan plan_sampler(const RequestSchedule& schedule, bool learned_variance, Parity parity);

}  // namespace ditar
