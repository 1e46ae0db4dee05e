#include "experiment/pair_run.h"

#include "ditar/config/error.h"
#include "experiment/records.h"
#include "experiment/sealed_seed.h"
#include "experiment/speed_test.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ditar {

using nlohmann::json;

PairResult measure_pair(WorkerLauncher& launcher, const Arm& a, const Arm& b, const PairPlan& plan,
                        Progress& progress) {
  PairResult result;
  const bool same = plan.kind == BlockKind::kCalibration;
  const int wanted = same ? plan.params.calibration_blocks : plan.params.confirm_blocks;
  int valid = 0;
  while (valid < wanted) {
    if (static_cast<int>(result.blocks.size()) >= 3 * wanted) {
      throw Error("too many void blocks (" + result.blocks.back().void_cause +
                      "); stop other work on this machine and run the command again",
                  ExitCode::kTemporary);
    }
    BlockPlan block{plan.params.quads_per_block,
                    2,
                    plan.seed,
                    plan.first_number + result.blocks.size(),
                    same ? OutputRule{true, 0.0} : OutputRule{false, 1.0},
                    plan.logs,
                    plan.guard,
                    plan.cost};
    std::string failed_arm;
    BlockResult measured = run_block(launcher, a, b, plan.task, block, failed_arm);
    if (result.output_fault.empty()) result.output_fault = measured.output_fault;
    const std::string cause =
        measured.void_cause.empty() ? measured.output_fault : measured.void_cause;
    result.blocks.push_back({plan.kind, std::move(measured.quads), !cause.empty(), cause});
    result.ranks = std::move(measured.ranks_a);
    valid += cause.empty() ? 1 : 0;
    progress.update(valid, wanted);
  }
  return result;
}

json pair_numbers(const HeadToHead& numbers) {
  return {{"valid_blocks", numbers.blocks},
          {"void_blocks", numbers.void_blocks},
          {"p", numbers.p},
          {"speedup_percent", speedup_percent(numbers.effect.estimate)},
          {"speedup_low_percent", speedup_percent(numbers.effect.low)},
          {"speedup_high_percent", speedup_percent(numbers.effect.high)},
          {"confidence", numbers.effect.confidence}};
}

json pair_body(const PairPlan& plan, const std::vector<BlockRecord>& blocks) {
  json list = json::array();
  for (const BlockRecord& block : blocks) list.push_back(to_json(block));
  json body = {{"seed", hex_text(plan.seed)},
               {"first_number", plan.first_number},
               {"parameters", to_json(plan.params)},
               {"blocks", list}};
  if (plan.kind == BlockKind::kCalibration) {
    body["calibration"] = to_json(calibration_of(blocks, plan.params));
  } else {
    body["numbers"] = pair_numbers(head_to_head(blocks, plan.params));
  }
  return body;
}

bool confirms_gain(const HeadToHead& numbers, double sigma0, const DecisionParams& params) {
  return numbers.p <= params.confirm_p &&
         numbers.effect.estimate >= std::max(params.min_effect, 0.5 * sigma0);
}

}  // namespace ditar
