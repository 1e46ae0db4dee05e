#include "ditar/coordinator/lane_hardware.h"

#include "ditar/config/error.h"

#include <algorithm>

namespace ditar {
namespace {

[[noreturn]] void refuse(const LaneConfig& lane, const std::string& what) {
  throw Unavailable("lane " + lane.name + " needs " + std::to_string(lane.gpus) +
                    " GPU(s): " + what + "; choose a CPU lane, or mend what dit-ar doctor names");
}

std::vector<const GpuFacts*> usable(const MachineFacts& machine, const std::string& name) {
  std::vector<const GpuFacts*> out;
  for (const GpuFacts& gpu : machine.gpus) {
    if (gpu.name == name && !gpu.uuid.empty() && !gpu.mig.value_or(false)) out.push_back(&gpu);
  }
  return out;
}

}  // namespace

LaneGpus find_lane_gpus(const LaneConfig& lane, const MachineFacts& machine) {
  LaneGpus out;
  if (lane.gpus == 0) return out;
  if (!machine.driver) {
    refuse(lane, machine.notes.empty() ? "no NVIDIA driver was found" : machine.notes.front());
  }
  const auto wanted = static_cast<std::size_t>(lane.gpus);
  std::vector<const GpuFacts*> chosen = usable(machine, lane.hardware);
  for (const GpuFacts& gpu : machine.gpus) {
    if (chosen.size() >= wanted) break;
    chosen = usable(machine, gpu.name);
  }
  if (chosen.size() < wanted) {
    refuse(lane, "the driver shows " + std::to_string(machine.gpus.size()) + ", and no " +
                     std::to_string(wanted) + " of one product without MIG");
  }
  chosen.resize(wanted);
  out.name = chosen.front()->name;
  out.driver = machine.driver_version;
  out.cuda = machine.cuda_version;
  out.off_target = out.name != lane.hardware;
  for (const GpuFacts* gpu : chosen) {
    out.uuids.push_back(gpu->uuid);
    if (!gpu->compute_capability) refuse(lane, "the driver does not tell the compute capability");
    if (std::count(out.architectures.begin(), out.architectures.end(), *gpu->compute_capability) ==
        0) {
      out.architectures.push_back(*gpu->compute_capability);
    }
  }
  return out;
}

std::string hardware_key(const LaneGpus& gpus) {
  if (gpus.uuids.empty()) return "cpu";
  return gpus.name + " x " + std::to_string(gpus.uuids.size()) + ", driver " + gpus.driver +
         ", CUDA " + gpus.cuda;
}

}  // namespace ditar
