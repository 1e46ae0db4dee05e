#include "gpu_facts.h"

#include "ditar/topology/device_model.h"
#include "sysfs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <utility>

namespace ditar {
namespace nvml {
namespace {

constexpr std::size_t kTextSize = 96;

class Reader {
 public:
  explicit Reader(std::vector<std::string>& missing) : missing_(missing) {}

  /// Calls `function(arguments..., &value)` and gives value, or names `what` as missing.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> read(const char* what, Function function, Arguments... arguments) {
    Value value{};
    const int code = function ? function(arguments..., &value) : kNotFound;
    return accept(what, function != nullptr, code) ? std::optional<Value>(value) : std::nullopt;
  }

  std::string text(const char* what, int (*function)(Device, char*, unsigned), Device device) {
    std::array<char, kTextSize> buffer{};
    const int code = function
                         ? function(device, buffer.data(), static_cast<unsigned>(buffer.size()))
                         : kNotFound;
    if (!accept(what, function != nullptr, code)) return "";
    buffer.back() = '\0';
    return buffer.data();
  }

  bool accept(const char* what, bool there, int code) {
    if (there && code == kSuccess) return true;
    missing_.push_back(std::string(what) + ": " +
                       (there ? reason(code) : "the driver is too old to tell"));
    return false;
  }

 private:
  std::vector<std::string>& missing_;
};

std::optional<double> watts(const std::optional<unsigned>& milliwatts) {
  return milliwatts ? std::optional<double>(*milliwatts / 1000.0) : std::nullopt;
}

std::optional<std::vector<ComputeProcess>> read_processes(const Api& api, Device device,
                                                          const std::string& proc_root,
                                                          Reader& reader) {
  constexpr unsigned kRoom = 256;
  constexpr unsigned long long kUnknown = ~0ULL;
  std::vector<ProcessInfo> raw(kRoom);
  unsigned count = kRoom;
  const int code = api.processes ? api.processes(device, &count, raw.data()) : kNotFound;
  if (!reader.accept("compute processes", api.processes != nullptr, code)) return std::nullopt;
  std::vector<ComputeProcess> all;
  for (unsigned i = 0; i < std::min(count, kRoom); ++i) {
    ComputeProcess process;
    process.pid = raw[i].pid;
    if (raw[i].used_bytes != kUnknown) process.used_bytes = raw[i].used_bytes;
    process.command = sysfs::command_of(proc_root, raw[i].pid);
    all.push_back(std::move(process));
  }
  return all;
}

void read_modes(const Api& api, Device device, Reader& reader, GpuFacts& facts) {
  int pending_ecc = 0;
  int ecc = 0;
  const int ecc_code = api.ecc ? api.ecc(device, &ecc, &pending_ecc) : kNotFound;
  if (reader.accept("ECC mode", api.ecc != nullptr, ecc_code)) facts.ecc = ecc != 0;
  unsigned mig = 0, pending_mig = 0;
  const int mig_code = api.mig ? api.mig(device, &mig, &pending_mig) : kNotSupported;
  if (mig_code == kSuccess) {
    facts.mig = mig != 0;
  } else if (mig_code == kNotSupported) {
    facts.mig = false;  // the board cannot be partitioned
  } else {
    reader.accept("MIG mode", true, mig_code);
  }
}

}  // namespace

GpuFacts read_gpu(const Api& api, Device device, int index, const std::string& proc_root) {
  GpuFacts facts;
  facts.index = index;
  Reader reader(facts.missing);
  facts.name = reader.text("name", api.name, device);
  facts.uuid = reader.text("UUID", api.uuid, device);
  if (const auto pci = reader.read<PciInfo>("PCI address", api.pci_info, device)) {
    facts.pci = sysfs::normal_pci(std::string(pci->bus_id, strnlen(pci->bus_id, 32)));
  }
  int major = 0, minor = 0;
  const int capability =
      api.compute_capability ? api.compute_capability(device, &major, &minor) : kNotFound;
  if (reader.accept("compute capability", api.compute_capability != nullptr, capability)) {
    facts.compute_capability = 10 * major + minor;
  }
  facts.sm_clock_mhz = reader.read<unsigned>("SM clock", api.clock, device, int{kClockSm});
  facts.memory_clock_mhz =
      reader.read<unsigned>("memory clock", api.clock, device, int{kClockMemory});
  facts.max_sm_clock_mhz =
      reader.read<unsigned>("highest SM clock", api.max_clock, device, int{kClockSm});
  facts.clock_reasons = reader.read<unsigned long long>("clock reasons", api.clock_reasons, device);
  facts.temperature_c = reader.read<unsigned>("temperature", api.temperature, device, 0);
  facts.power_w = watts(reader.read<unsigned>("power", api.power, device));
  facts.power_limit_w = watts(reader.read<unsigned>("power limit", api.power_limit, device));
  facts.enforced_power_limit_w =
      watts(reader.read<unsigned>("enforced power limit", api.enforced_power_limit, device));
  facts.energy_mj = reader.read<unsigned long long>("energy", api.energy, device);
  if (const auto memory = reader.read<Memory>("memory", api.memory, device)) {
    facts.memory_total_bytes = memory->total;
    facts.memory_used_bytes = memory->used;
  }
  read_modes(api, device, reader, facts);
  facts.processes = read_processes(api, device, proc_root, reader);
  return facts;
}

PcieState read_pcie(const Api& api, Device device) {
  const auto read = [device](int (*function)(Device, unsigned*)) -> std::optional<int> {
    unsigned value = 0;
    if (!function || function(device, &value) != kSuccess || value == 0) return std::nullopt;
    return static_cast<int>(value);
  };
  return {read(api.pcie_gen), read(api.max_pcie_gen), read(api.pcie_width),
          read(api.max_pcie_width)};
}

}  // namespace nvml

bool GpuFacts::is_target() const noexcept { return is_target_gpu(name); }

std::vector<std::string> clock_reason_names(std::uint64_t bits) {
  static constexpr std::array<std::pair<ClockReason, const char*>, 9> kNames{{
      {ClockReason::kGpuIdle, "gpu_idle"},
      {ClockReason::kApplicationsClocks, "applications_clocks"},
      {ClockReason::kSwPowerCap, "sw_power_cap"},
      {ClockReason::kHwSlowdown, "hw_slowdown"},
      {ClockReason::kSyncBoost, "sync_boost"},
      {ClockReason::kSwThermal, "sw_thermal_slowdown"},
      {ClockReason::kHwThermal, "hw_thermal_slowdown"},
      {ClockReason::kHwPowerBrake, "hw_power_brake"},
      {ClockReason::kDisplayClocks, "display_clocks"},
  }};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames) {
    const auto mask = static_cast<std::uint64_t>(bit);
    if ((bits & mask) != 0) names.emplace_back(name);
    bits &= ~mask;
  }
  if (bits != 0) {
    std::ostringstream rest;
    rest << "unknown(0x" << std::hex << bits << ")";
    names.push_back(rest.str());
  }
  return names;
}

bool clocks_are_faulty(std::uint64_t bits) noexcept {
  constexpr auto kFaults = static_cast<std::uint64_t>(ClockReason::kHwSlowdown) |
                           static_cast<std::uint64_t>(ClockReason::kSwThermal) |
                           static_cast<std::uint64_t>(ClockReason::kHwThermal) |
                           static_cast<std::uint64_t>(ClockReason::kHwPowerBrake);
  return (bits & kFaults) != 0;
}

}  // namespace ditar
