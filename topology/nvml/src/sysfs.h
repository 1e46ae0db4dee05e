// PCI and CPU facts from sysfs and procfs. Missing files give empty values; nothing throws.
#pragma once

#include "ditar/topology/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace ditar::sysfs {

/// "00000000:3B:00.0" or "0000:3B:00.0" to sysfs' "0000:3b:00.0".
std::string normal_pci(std::string bus_id);

struct PciFacts {
  bool found = false;
  std::optional<int> numa;  ///< nothing for -1 (unknown, as in many virtual machines)
  PcieState link;           ///< `best` is the least along the way up to the root port
};
PciFacts read_pci(const std::string& root, const std::string& pci);

/// NVIDIA display or 3D controllers on the bus, whether or not a driver serves them.
std::vector<std::string> nvidia_devices(const std::string& root);

/// "amd", "intel" or empty, from cpuinfo under `proc_root`.
std::string cpu_vendor(const std::string& proc_root);
/// The process' name, or empty.
std::string command_of(const std::string& proc_root, unsigned pid);

}  // namespace ditar::sysfs
