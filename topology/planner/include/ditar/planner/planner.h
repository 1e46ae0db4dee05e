// Chooses how a job is split: every legal product of degrees up to the world size, ranked by
// predicted time; every other one with the reason. Mutable part of the engine: only the worker
// links it. Pure functions; thread-safe.
#pragma once

#include "ditar/planner/step_cost.h"

#include <optional>
#include <string>
#include <vector>

namespace ditar {

struct PlannerInput {
  ModelShape model;
  LaneShape lane;
  int world_size = 1;
  DeviceModel device;
  TopologyGraph graph;  ///< links without a cost are modelled; no GPUs: one host, host memory
  StepScales scales;
  std::int64_t memory_cap_bytes = 0;  ///< 0: the device's own memory
};

struct RankedPlan {
  Plan plan;
  std::vector<int> gpus;  ///< indices in the graph the plan runs on
  StepCost cost;
  double seconds = 0, seconds_low = 0, seconds_high = 0;  ///< per step; the residual band
  double speedup = 1;  ///< against "single"; 0 if that is illegal
  MemoryNeed memory;
  Origin origin = Origin::kModelled;  ///< kMeasured: links and scales were fitted here
};
struct RejectedPlan {
  Plan plan;
  std::string reason;
};
struct PlanList {
  std::vector<RankedPlan> ranked;  ///< fastest first; within 1 % fewer ranks, then simpler, first
  std::vector<RejectedPlan> rejected;
};

/// Why `plan` cannot run this job on `world_size` ranks, with the numbers; nothing if it can.
/// Memory is not looked at.
std::optional<std::string> why_illegal(const ModelShape& model, const LaneShape& lane,
                                       const Plan& plan, int world_size);

/// @throws InvalidArgument for sizes that cannot be (world size < 1, no images, patch that does not
/// divide the latents, fewer GPUs in the graph than ranks).
PlanList plans_for(const PlannerInput& input);

/// The list as a table, or as JSON. Both say what is measured and what is modelled.
std::string plan_report(const PlannerInput& input, const PlanList& plans, bool json);

}  // namespace ditar
