// Two builds side by side on fresh blocks, outside any campaign: original against best, a kept
// commit against its parent once its noise floor is in doubt, a second measurement asked for by a
// person. No level is spent and nothing is kept or discarded by it. Blocks while it runs.
#pragma once

#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/timing_block.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

struct PairPlan {
  Task task;
  DecisionParams params;
  BlockKind kind = BlockKind::kHeadToHead;  ///< or kCalibration: an arm against its own copy
  std::uint64_t seed = 0;
  std::uint64_t first_number = 0;  ///< of its blocks under that seed
  std::filesystem::path logs;
  MachineGuard* guard = nullptr;
  CostMeter* cost = nullptr;
};

struct PairResult {
  std::vector<BlockRecord> blocks;  ///< void ones included
  std::string output_fault;         ///< of the first block whose outputs differed; empty: none
  std::vector<RankReport> ranks;    ///< of arm A in the last block
};

/// Measures confirm_blocks valid blocks (calibration_blocks of a calibration). A calibration's
/// outputs must agree in every bit, a head-to-head's within catastrophe; a block where they do not
/// is void. @throws Error (exit 75) if more than twice the blocks asked for were void;
/// WorkerFailure.
PairResult measure_pair(WorkerLauncher& launcher, const Arm& a, const Arm& b, const PairPlan& plan,
                        Progress& progress);

/// The numbers of a pair, as ledger records hold them beside `seed`, `first_number` and `blocks`.
nlohmann::json pair_numbers(const HeadToHead& numbers);
nlohmann::json pair_body(const PairPlan& plan, const std::vector<BlockRecord>& blocks);

/// Whether the pair shows a gain that would be confirmed: p and effect as the confirming test asks.
bool confirms_gain(const HeadToHead& numbers, double sigma0, const DecisionParams& params);

}  // namespace ditar
