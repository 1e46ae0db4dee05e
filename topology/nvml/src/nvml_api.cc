#include "nvml_api.h"

#include "ditar/config/error.h"

#include <dlfcn.h>

#include <initializer_list>

namespace ditar::nvml {
namespace {

/// The first of `names` that the library has, newest first.
template <typename Function>
void load(void* library, Function& target, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* symbol = dlsym(library, name)) {
      target = reinterpret_cast<Function>(symbol);
      return;
    }
  }
}

void load_device(void* library, Api& api) {
  load(library, api.name, {"nvmlDeviceGetName"});
  load(library, api.uuid, {"nvmlDeviceGetUUID"});
  load(library, api.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  load(library, api.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  load(library, api.clock, {"nvmlDeviceGetClockInfo"});
  load(library, api.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  load(library, api.clock_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(library, api.temperature, {"nvmlDeviceGetTemperature"});
  load(library, api.power, {"nvmlDeviceGetPowerUsage"});
  load(library, api.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
  load(library, api.enforced_power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  load(library, api.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  load(library, api.memory, {"nvmlDeviceGetMemoryInfo"});
  load(library, api.ecc, {"nvmlDeviceGetEccMode"});
  load(library, api.mig, {"nvmlDeviceGetMigMode"});
  load(library, api.processes, {"nvmlDeviceGetComputeRunningProcesses_v3"});
  load(library, api.violation, {"nvmlDeviceGetViolationStatus"});
}

void load_links(void* library, Api& api) {
  load(library, api.pcie_gen, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  load(library, api.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  load(library, api.max_pcie_gen, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  load(library, api.max_pcie_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  load(library, api.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  load(library, api.p2p_status, {"nvmlDeviceGetP2PStatus"});
  load(library, api.link_state, {"nvmlDeviceGetNvLinkState"});
  load(library, api.link_remote, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  load(library, api.link_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
}

}  // namespace

void Library::Closer::operator()(void* handle) const noexcept { dlclose(handle); }

Library::Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) {
    throw Unavailable("no NVIDIA driver: " + path +
                      " cannot be loaded; install the driver for GPU lanes (CPU lanes need none)");
  }
  void* library = handle_.get();
  load(library, api_.init, {"nvmlInit_v2"});
  load(library, api_.shutdown, {"nvmlShutdown"});
  load(library, api_.driver_version, {"nvmlSystemGetDriverVersion"});
  load(library, api_.nvml_version, {"nvmlSystemGetNVMLVersion"});
  load(library, api_.cuda_version,
       {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  load(library, api_.count, {"nvmlDeviceGetCount_v2"});
  load(library, api_.handle, {"nvmlDeviceGetHandleByIndex_v2"});
  load_device(library, api_);
  load_links(library, api_);
  if (!api_.init || !api_.shutdown || !api_.count || !api_.handle) {
    throw Unavailable(path + " lacks the basic entries of NVML; update the NVIDIA driver");
  }
  const int code = api_.init();
  if (code == kVersionMismatch) {
    throw Unavailable(
        "the NVIDIA kernel module and libnvidia-ml are of different versions; reboot, or reload "
        "the module");
  }
  if (code != kSuccess) {
    throw Unavailable("NVML does not start (" + reason(code) +
                      "); check that the NVIDIA driver is loaded");
  }
}

Library::~Library() {
  if (handle_ && api_.shutdown) api_.shutdown();
}

std::string reason(int code) {
  switch (code) {
    case kInvalidArgument:
      return "invalid argument";
    case kNotSupported:
      return "not supported";
    case kNoPermission:
      return "no permission";
    case kNotFound:
      return "not found";
    case kDriverNotLoaded:
      return "driver not loaded";
    case kGpuIsLost:
      return "the GPU is lost; reboot";
    case kVersionMismatch:
      return "driver and library versions differ";
    default:
      return "NVML error " + std::to_string(code);
  }
}

}  // namespace ditar::nvml
