// The fence of one launch. Private to coordinator/src/launch. Stateless.
#pragma once

#include "ditar/coordinator/launch_plan.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

/// argv in front of mpirun's; empty if the plan asks for no fence. Ranks read the worker's folder,
/// the plan's files and the launcher's libraries, and write `temporary` alone. A plan with GPUs
/// admits NVIDIA's device files.
std::vector<std::string> launch_fence(const LaunchPlan& plan, const std::string& mpirun,
                                      const std::filesystem::path& temporary);

}  // namespace ditar
