// JSON forms of what was measured, for ledger and receipts. Pure.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/config/messages.h"
#include "ditar/coordinator/isolation.h"
#include "ditar/coordinator/lane_hardware.h"
#include "ditar/coordinator/project.h"
#include "ditar/coordinator/verdict/decision.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace ditar {

nlohmann::json to_json(const BlockRecord& block);
nlohmann::json to_json(const Decision& decision);
nlohmann::json to_json(const Calibration& calibration);
nlohmann::json to_json(const HostFacts& facts);
nlohmann::json to_json(const LaneGpus& gpus);
/// {level, layers, hindrance, cannot_promise[]}
nlohmann::json to_json(const Isolation& isolation);
/// Every rank's report aggregated: min, mean, max over ranks, and the rank with the largest time.
nlohmann::json aggregate(const std::vector<RankReport>& ranks);

/// One block, and the blocks of a receipt, back again: to_json of the result is the same text.
/// @throws DataError for a record that does not fit.
BlockRecord block_from(const nlohmann::json& block);
std::vector<BlockRecord> blocks_from(const nlohmann::json& blocks);
nlohmann::json to_json(const DecisionParams& params);
DecisionParams params_from(const nlohmann::json& params);

/// The locked parameters of a lane's decision.
DecisionParams decision_params(const LaneConfig& lane);

/// Median of one arm's times in seconds over all valid quads. 0 if there is none.
double median_seconds(const std::vector<BlockRecord>& blocks, bool of_b);

/// The JSON value of `text`, null where it is not JSON: a worker's words and a candidate's files
/// may be anything, and what is written into a receipt has to be readable again.
nlohmann::json parsed_or_null(const std::string& text);

}  // namespace ditar
