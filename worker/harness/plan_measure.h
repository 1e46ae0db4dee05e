// Runs the plans that the planner ranks first and times their steps, on this group of ranks.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/parallel/communicator.h"
#include "ditar/planner/planner.h"

#include <string>
#include <vector>

namespace ditar {

struct MeasureOptions {
  LoadRequest load;  ///< its plan is not looked at
  std::string device = "cpu";
  int threads = 1;
  int requests = 5;  ///< timed, after one that is not; the median counts
};

struct MeasuredPlan {
  Plan plan;
  MeasuredStep step;  ///< predicted with scales of 1, and the slowest rank's median
};

/// Sizes of the model at `load.model_path`, loaded once on this rank. @throws what loading throws.
LoadReply read_model(const MeasureOptions& options, int rank);

/// Times each of `plans` on the first ranks of `world` (null: one rank), all with the same requests
/// of `input.lane`. Collective; every rank gets the same numbers.
std::vector<MeasuredPlan> measure_plans(Communicator* world, const PlannerInput& input,
                                        const std::vector<RankedPlan>& plans,
                                        const MeasureOptions& options);

}  // namespace ditar
