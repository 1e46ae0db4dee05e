#include "ditar/coordinator/verdict/sweep_decision.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cmath>

namespace ditar {

SweepDecision decide_sweep(const SweepEvidence& evidence, const DecisionParams& params) {
  check(params);
  if (!(evidence.sigma0 > 0.0) || !std::isfinite(evidence.sigma0)) {
    throw DataError("sigma0 of the sweep is not above 0; calibrate with `dit-ar baseline`");
  }
  const double sigma0 = std::max(evidence.sigma0, params.sigma_floor);
  const double tau = std::max(2.0 * sigma0, params.tau_floor);
  const double bound = params.clip_sigmas * sigma0;
  const double least_gain = std::max(params.min_effect, 0.5 * sigma0);
  SweepDecision out;
  for (const std::vector<double>& gains : evidence.gains) {
    double sum = 0.0;
    for (const double gain : gains) {
      if (!std::isfinite(gain)) throw DataError("a gain of the sweep is not finite");
      sum += std::clamp(gain, -bound, bound);
    }
    out.log_e.push_back(log_e_value(sum, static_cast<int>(gains.size()), sigma0, tau));
  }
  out.better = e_bh(out.log_e, params.alpha);
  double largest = least_gain;
  for (const std::size_t i : out.better) {
    const double gain = hodges_lehmann(evidence.gains[i]).estimate;
    if (gain < largest) continue;
    largest = gain;
    out.winner = i;
  }
  return out;
}

}  // namespace ditar
