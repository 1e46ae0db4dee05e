// One GPU's facts through a loaded NVML. Private.
#pragma once

#include "ditar/topology_nvml/machine_facts.h"
#include "nvml_api.h"

namespace ditar::nvml {

/// Reads what NVML gives of `device`; every fact that is not there is named in `missing`.
GpuFacts read_gpu(const Api& api, Device device, int index, const std::string& proc_root);

/// The link to the slot as NVML sees it; empty values where it does not tell.
PcieState read_pcie(const Api& api, Device device);

}  // namespace ditar::nvml
