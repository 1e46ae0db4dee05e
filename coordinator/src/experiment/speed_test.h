// A speed test as the ledger holds it. A test opens with a record "speed-test" (its place in the
// campaign, its level, its parameters and its noise), then comes one record "block" for each block
// as soon as it is measured, with every raw nanosecond. What the flow decides by and what `verify`
// decides by are built here from the same records. Pure.
//
// speed-test {session, id, round, test_index, keeps_before, alpha, sigma0, controls_before,
// parameters}; block {session, id, round, number, kind, quads: [{order, ns}]}; calibration
// {session, id, blocks, calibration}: a new noise floor measured within a session.
#pragma once

#include "ditar/coordinator/ledger.h"
#include "ditar/coordinator/verdict/decision.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace ditar {

/// Stream of a seed that places the control block.
inline constexpr std::uint32_t kControlStream = 21;

/// The campaign (a session) before its next speed test.
struct CampaignState {
  int test_index = 1;            ///< e-LOND's index: tests begun before it, plus one
  int keeps = 0;                 ///< KEEPs so far
  double sigma0 = 0.0;           ///< of the latest accepted calibration
  std::vector<double> controls;  ///< since that calibration, oldest first
};
/// Reads it off the records with a seq below `before`. A test counts once, from its first record on
/// (no free peeks, a killed run included); one that ended in RETRY is given back, for the machine
/// was at fault. `id` is the test itself, whose own earlier rounds do not count.
CampaignState campaign_state(std::span<const Record> records, const std::string& session,
                             const std::string& id,
                             std::int64_t before = std::numeric_limits<std::int64_t>::max());

/// Evidence of one round from the campaign before it; blocks are added as they come.
Evidence evidence_of(const CampaignState& campaign, std::uint64_t seed,
                     const DecisionParams& params);

/// The noise floor of calibration blocks; void ones are left out.
Calibration calibration_of(std::span<const BlockRecord> blocks, const DecisionParams& params);

nlohmann::json speed_test_body(const std::string& session, const std::string& id, int round,
                               const Evidence& evidence, const DecisionParams& params);
nlohmann::json block_body(const std::string& session, const std::string& id, int round,
                          std::uint64_t number, const BlockRecord& block);

}  // namespace ditar
