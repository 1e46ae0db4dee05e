// A scripted libnvidia-ml.so.1: two RTX A5500, whose bridge, faults and gaps follow the environment
// variable FAKE_NVML, a comma list of: bridge, half_bridge, switch, no_gpu, mismatch, not_loaded,
// lost, corrupt_p2p, mig, hot, silent. Built a second time with FAKE_NVML_OLD, without newer
// entries.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool has(const char* word) {
  const char* script = std::getenv("FAKE_NVML");
  const std::string all = "," + std::string(script ? script : "") + ",";
  return all.find("," + std::string(word) + ",") != std::string::npos;
}

int index_of(void* device) { return device == reinterpret_cast<void*>(0x10) ? 0 : 1; }

int put(char* out, unsigned size, const char* text) {
  std::snprintf(out, size, "%s", text);
  return 0;
}

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

void fill_pci(PciInfo* info, int index) {
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%s:00.0", index == 0 ? "3B" : "AF");
}

constexpr int kNotSupported = 3;
int open_count = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (has("mismatch")) return 18;
  if (has("not_loaded")) return 9;
  ++open_count;
  return 0;
}
int nvmlShutdown() {
  // An unbalanced shutdown is a fault of the caller.
  if (--open_count < 0) std::abort();
  return 0;
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return put(out, size, "580.95.05"); }
int nvmlSystemGetNVMLVersion(char* out, unsigned size) { return put(out, size, "13.580.95.05"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = has("no_gpu") ? 0 : 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (has("lost") && index == 1) return 15;
  *device = reinterpret_cast<void*>(index == 0 ? 0x10 : 0x20);
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return put(out, size, index_of(device) == 0 ? "NVIDIA RTX A5500" : "NVIDIA RTX A5500 Laptop GPU");
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return put(out, size, index_of(device) == 0 ? "GPU-aaaa" : "GPU-bbbb");
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  fill_pci(info, index_of(device));
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  if (has("silent")) return kNotSupported;
  *level = 30;
  return 0;
}

#ifndef FAKE_NVML_OLD
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 8;
  *minor = 6;
  return 0;
}
int nvmlDeviceGetViolationStatus(void*, int policy, unsigned long long* reference_violation) {
  if (policy != 1) return kNotSupported;
  reference_violation[0] = 1;
  reference_violation[1] = has("hot") ? 5000000 : 0;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* clock) {
  *clock = type == 1 ? 1665 : 8001;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* clock) {
  *clock = 2100;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  *bits = has("hot") ? 0x44 : 0x4;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 221500;
  return 0;
}
int nvmlDeviceGetPowerManagementLimit(void*, unsigned* milliwatts) {
  *milliwatts = 230000;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 200000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return 4; }
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 25757220864ULL;
  total_free_used[1] = 25000000000ULL;
  total_free_used[2] = 757220864ULL;
  return 0;
}
int nvmlDeviceGetEccMode(void*, int* current, int* pending) {
  *current = 1;
  *pending = 0;
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return has("mig") ? 0 : kNotSupported;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* out) {
  struct Process {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
  };
  if (index_of(device) == 1) {
    *count = 0;
    return 0;
  }
  auto* process = static_cast<Process*>(out);
  process[0] = {1, 500000000ULL, 0, 0};
  process[1] = {4000000, ~0ULL, 0, 0};
  *count = 2;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) {
  *value = 1;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  *value = 4;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetP2PStatus(void* from, void*, int capability, int* status) {
  if (capability == 2) {
    *status = has("switch") ? 0 : 5;
  } else {
    *status = has("corrupt_p2p") && index_of(from) == 1 && capability == 1 ? 1 : 0;
  }
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  const bool any = has("bridge") || has("half_bridge") || has("switch");
  if (link >= 4) return 2;
  *active = any && !(has("half_bridge") && link == 3);
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* info) {
  fill_pci(info, 1 - index_of(device));
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = has("switch") ? 2 : 0;
  return 0;
}
#endif

}  // extern "C"
