// Which configurations of a sweep are better than the default: one family of hypotheses, judged
// together by e-BH (Wang and Ramdas, 2022), whose false discovery rate holds whatever the points
// share (machine, default, drift). The best of them is only a candidate: its gain is the largest of
// many and has to be measured again on fresh blocks. Pure; thread-safe.
#pragma once

#include "ditar/coordinator/verdict/decision.h"

#include <optional>
#include <vector>

namespace ditar {

/// `gains[i]` are the block gains (log ratios, above 0 where faster) of configuration i against the
/// default, in the order measured; any number of blocks, each point may have its own.
struct SweepEvidence {
  double sigma0 = 0.0;
  std::vector<std::vector<double>> gains;
};

struct SweepDecision {
  std::vector<double> log_e;          ///< ln E of "better than the default", by configuration
  std::vector<std::size_t> better;    ///< ascending; false discovery rate at most params.alpha
  std::optional<std::size_t> winner;  ///< of `better` the largest Hodges-Lehmann gain that reaches
                                      ///< the least gain; to be confirmed on fresh blocks
};

/// @throws ConfigError for bad parameters, DataError if sigma0 is not above 0 or a gain is not
/// finite.
SweepDecision decide_sweep(const SweepEvidence& evidence, const DecisionParams& params);

}  // namespace ditar
