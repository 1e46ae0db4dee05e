// What a kind of GPU (or CPU) can do, for predictions only. Every figure names its source; none was
// measured by this code. Value types and constant tables; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ditar {

/// The product's target, matched whole: "NVIDIA RTX A5500 Laptop GPU" is another chip.
inline constexpr std::string_view kTargetGpuName = "NVIDIA RTX A5500";
bool is_target_gpu(std::string_view full_name) noexcept;

enum class Arithmetic : std::uint8_t { kF32, kTf32, kF16 };
/// Bytes of one stored element: 4 for kF32 and kTf32, 2 for kF16 (and BF16, whose rates are equal).
int element_bytes(Arithmetic arithmetic) noexcept;

struct DeviceModel {
  std::string name;  ///< the driver's full name; "CPU" for the generic one
  bool gpu = true;
  int sm_count = 1;              ///< multiprocessors, or cores
  double boost_mhz = 0.0;        ///< clock of the peaks below; 0: not known
  double f32_tflops = 0.0;       ///< dense peaks at boost clock
  double tf32_tflops = 0.0;      ///< with FP32 accumulation
  double f16_tflops = 0.0;       ///< with FP32 accumulation
  double memory_gb_per_s = 0.0;  ///< 1 GB = 1e9 bytes
  double cache_mb = 0.0;         ///< last level
  std::int64_t memory_bytes = 0;
  int links_best = 0;            ///< NVLinks the board can bond, 0: none
  double gb_per_s_per_link = 0;  ///< usable, one direction
  double kernel_gap_us = 0.0;    ///< cost of one more kernel in a replayed graph
  double matmul_efficiency = 0;  ///< share of the peak that a large, well-tiled product reaches
  double attention_efficiency = 0;
  double memory_efficiency = 0;
  std::string source;  ///< where the figures come from

  double peak_flops(Arithmetic arithmetic) const noexcept;
  /// The same device with its arithmetic at another clock; memory keeps its own.
  /// @throws InvalidArgument if mhz <= 0 or boost_mhz is not known.
  DeviceModel at_clock(double mhz) const;
};

/// The known GPUs. `find_device_model` compares whole names and returns null for any other.
std::span<const DeviceModel> device_models();
const DeviceModel* find_device_model(std::string_view full_name) noexcept;
/// A generic CPU of `cores` cores with 256-bit FMA units. @throws InvalidArgument if cores < 1.
DeviceModel cpu_model(int cores);

}  // namespace ditar
