// The few entries of NVML that are used, declared here because NVML's header is not always there,
// and a loader. Private. An entry the driver lacks is null.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace ditar::nvml {

using Device = void*;

enum Return : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kGpuIsLost = 15,
  kVersionMismatch = 18
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct Violation {
  unsigned long long reference_us, violation_ns;
};

enum Policy : int { kPolicyThermal = 1 };
enum Clock : int { kClockSm = 1, kClockMemory = 2 };
enum P2pCapability : int { kP2pRead = 0, kP2pWrite = 1, kP2pNvlink = 2 };
enum RemoteType : int { kRemoteGpu = 0, kRemoteSwitch = 2 };
inline constexpr unsigned kMostLinks = 36;

/// Every pointer may be null.
struct Api {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*nvml_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*compute_capability)(Device, int*, int*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*max_clock)(Device, int, unsigned*) = nullptr;
  int (*clock_reasons)(Device, unsigned long long*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*enforced_power_limit)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*ecc)(Device, int*, int*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
  int (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*violation)(Device, int, Violation*) = nullptr;
  int (*pcie_gen)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*max_pcie_gen)(Device, unsigned*) = nullptr;
  int (*max_pcie_width)(Device, unsigned*) = nullptr;
  int (*common_ancestor)(Device, Device, int*) = nullptr;
  int (*p2p_status)(Device, Device, int, int*) = nullptr;
  int (*link_state)(Device, unsigned, int*) = nullptr;
  int (*link_remote)(Device, unsigned, PciInfo*) = nullptr;
  int (*link_remote_type)(Device, unsigned, int*) = nullptr;
};

/// A loaded and initialised NVML; shut down and unloaded on destruction. Stays where it is.
class Library {
 public:
  /// @throws Unavailable with the reason and the mend.
  explicit Library(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Api& api() const noexcept { return api_; }

 private:
  struct Closer {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Closer> handle_;
  Api api_;
};

/// "not supported", "no permission", ... for a return code.
std::string reason(int code);

}  // namespace ditar::nvml
