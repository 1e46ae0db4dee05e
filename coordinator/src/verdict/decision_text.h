// The sentences of a decision: why, and what would have changed it. Internal to verdict/.
#pragma once

#include "ditar/coordinator/verdict/decision.h"

#include <string>

namespace ditar {

/// "0.53 %" of a log ratio, as a speed-up: 100 (e^x - 1).
std::string percent_text(double log_ratio);
/// Four significant digits.
std::string number_text(double value);

/// Fills `why` and `would_change` from outcome, reason and numbers.
void explain(Decision& decision, const DecisionParams& params);

}  // namespace ditar
