// The GPUs that a lane runs on, chosen from what NVML tells, and the hardware key that its figures
// belong to: figures of different keys are never compared. Pure functions; thread-safe.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/topology_nvml/machine_facts.h"

#include <string>
#include <vector>

namespace ditar {

/// The GPUs of a lane, all of one product name. Empty for a CPU lane.
struct LaneGpus {
  std::string name, driver, cuda;  ///< cuda: the driver's highest version
  std::vector<std::string> uuids;  ///< one per GPU of the lane
  std::vector<int> architectures;  ///< 86 for sm_86; each once
  bool off_target = false;         ///< not the product that the lane is made for (R12)
};

/// The first GPUs of the lane's own product, else the first of any one product, none in MIG mode.
/// @throws Unavailable naming what is missing: the driver, GPUs, or a fact about them.
LaneGpus find_lane_gpus(const LaneConfig& lane, const MachineFacts& machine);

/// "NVIDIA RTX A5500 x 1, driver 580.95.05, CUDA 13.0"; "cpu" for a CPU lane.
std::string hardware_key(const LaneGpus& gpus);

}  // namespace ditar
