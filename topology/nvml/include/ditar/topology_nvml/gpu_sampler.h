// What chosen GPUs are doing, read again and again through one NVML that stays open: a read takes
// well under a millisecond. One thread at a time; samplers are independent of each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// One GPU at one instant. Empty where the driver does not tell.
struct GpuSample {
  std::optional<std::uint64_t> clock_reasons;  ///< bits of ClockReason
  /// Time that heat held the clocks down, counted since the driver was loaded.
  std::optional<std::uint64_t> thermal_violation_ns;
  std::optional<unsigned> sm_clock_mhz, temperature_c;
  std::optional<std::uint64_t> memory_used_bytes;  ///< of all processes together
  /// The processes that compute, as the driver numbers them, ascending.
  std::optional<std::vector<std::uint32_t>> processes;
};

class GpuSampler {
 public:
  /// @param uuids  as MachineFacts gives them
  /// @throws Unavailable naming the GPU that is not there, or the driver that is missing
  explicit GpuSampler(const std::vector<std::string>& uuids,
                      const std::string& nvml_library = "libnvidia-ml.so.1");
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// In the order of the UUIDs. Never throws for a fact that is missing.
  std::vector<GpuSample> sample() const;
  /// The memory in use alone, summed over the GPUs; empty if one does not tell.
  std::optional<std::uint64_t> memory_used() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ditar
