// One denoiser step on one device, op group by op group, as a profile shows it. Predictions, not
// measurements. Pure functions; thread-safe.
#pragma once

#include "ditar/planner/job.h"

#include <string>
#include <vector>

namespace ditar {

struct StepGroup {
  std::string name;    ///< "linear 512x3456x1152" (rows, columns, inner size), "attention", ...
  double calls = 0;    ///< in a step
  double seconds = 0;  ///< all calls together
  double flops = 0;
  double bytes = 0;  ///< operands and results once
};

/// The products by size, "attention", "norm", and last "gaps" (launches). Their seconds add up to
/// those of predict_step() for the plan "single".
/// @throws InvalidArgument if the patch does not divide the latents.
std::vector<StepGroup> predict_groups(const ModelShape& model, const LaneShape& lane,
                                      const DeviceModel& device);

}  // namespace ditar
