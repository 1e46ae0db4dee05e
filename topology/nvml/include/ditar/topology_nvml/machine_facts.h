// What this machine is right now, read by NVML (loaded at run time) and sysfs: no CUDA, no driver
// header. With no driver everything still works and says what is missing. Value types and one
// reader; the reader may run on any thread, one call at a time. Reading blocks for milliseconds, or
// seconds where no persistence mode keeps the driver loaded.
#pragma once

#include "ditar/topology/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// Why the clocks are not at their best; several may hold.
enum class ClockReason : std::uint64_t {
  kGpuIdle = 0x1,
  kApplicationsClocks = 0x2,
  kSwPowerCap = 0x4,
  kHwSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSwThermal = 0x20,
  kHwThermal = 0x40,
  kHwPowerBrake = 0x80,
  kDisplayClocks = 0x100
};
/// The names of the set bits ("sw_power_cap"); unknown bits as "unknown(0x...)".
std::vector<std::string> clock_reason_names(std::uint64_t bits);
/// True for heat, hardware slowdown or power brake: a timing taken then is void.
bool clocks_are_faulty(std::uint64_t bits) noexcept;

struct ComputeProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> used_bytes;  ///< nothing where the driver does not tell
  std::string command;                      ///< from /proc; empty if not visible
};

/// One GPU. An empty optional was not available; `missing` says why, one entry per fact.
struct GpuFacts {
  int index = 0;
  std::string name, uuid, pci;            ///< pci in sysfs form, "0000:3b:00.0"
  std::optional<int> compute_capability;  ///< 86: native code is sm_86
  std::optional<unsigned> sm_clock_mhz, memory_clock_mhz, max_sm_clock_mhz;
  std::optional<std::uint64_t> clock_reasons;
  std::optional<unsigned> temperature_c;
  std::optional<double> power_w, power_limit_w, enforced_power_limit_w;
  std::optional<std::uint64_t> energy_mj;
  std::optional<std::uint64_t> memory_total_bytes, memory_used_bytes;
  std::optional<bool> ecc, mig;
  std::optional<std::vector<ComputeProcess>> processes;
  std::optional<int> nvlinks_active;
  std::vector<std::string> missing;

  bool is_target() const noexcept;
};

struct MachineFacts {
  bool driver = false;                                     ///< NVML was loaded and answers
  std::string driver_version, nvml_version, cuda_version;  ///< cuda: the driver's highest, "13.0"
  std::vector<GpuFacts> gpus;
  TopologyGraph graph;             ///< same indices; paths and declared peer access
  std::vector<std::string> notes;  ///< what is missing on the whole machine, with the mend
};

struct MachineSources {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
};

/// Reads everything; never throws for a missing driver, device, file or permission.
MachineFacts read_machine(const MachineSources& sources = {});

}  // namespace ditar
