#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/decision.h"

#include <cmath>

namespace ditar {
namespace {

void demand(bool holds, const char* key, const char* rule) {
  if (!holds) throw ConfigError(std::string("decision.") + key + " must be " + rule);
}

bool between(double value, double low, double high) { return value > low && value < high; }

}  // namespace

void check(const DecisionParams& p) {
  demand(p.quads_per_block >= 1 && p.quads_per_block <= 1024, "quads_per_block", "1 to 1024");
  demand(p.min_blocks >= 2, "min_blocks", "at least 2");
  demand(p.max_blocks >= p.min_blocks, "max_blocks", "at least min_blocks");
  demand(p.budget_blocks >= p.max_blocks, "budget_blocks", "at least max_blocks");
  demand(p.confirm_blocks >= 1 && p.confirm_blocks <= 22, "confirm_blocks", "1 to 22");
  demand(p.calibration_blocks >= 8, "calibration_blocks", "at least 8");
  demand(between(p.alpha, 0.0, 1.0), "alpha", "between 0 and 1");
  demand(between(p.beta, 0.0, 1.0), "beta", "between 0 and 1");
  demand(between(p.confirm_p, 0.0, 1.0), "confirm_p", "between 0 and 1");
  demand(std::ldexp(1.0, -p.confirm_blocks) <= p.confirm_p, "confirm_p",
         "at least 2^-confirm_blocks, or no candidate could be confirmed");
  demand(p.min_effect > 0.0 && p.min_effect < 1.0, "min_effect", "between 0 and 1");
  demand(between(p.clip_sigmas, 1.0, 100.0), "clip_sigmas", "between 1 and 100");
  demand(between(p.tau_floor, 0.0, 1.0), "tau_floor", "between 0 and 1");
  demand(between(p.void_block_limit, 0.0, 1.0), "void_block_limit", "between 0 and 1");
  demand(between(p.imbalance_p, 0.0, 1.0), "imbalance_p", "between 0 and 1");
  demand(between(p.sigma_floor, 0.0, 0.01), "sigma_floor", "between 0 and 0.01");
  demand(p.sigma_limit > p.sigma_floor, "sigma_limit", "above sigma_floor");
}

DecisionParams quick_profile() {
  DecisionParams params;
  params.quads_per_block = 16;
  params.min_blocks = 3;
  params.max_blocks = 8;
  params.budget_blocks = 14;
  params.confirm_blocks = 10;
  params.calibration_blocks = 12;
  params.sigma_limit = 0.012;
  params.min_effect = 0.005;
  return params;
}

}  // namespace ditar
