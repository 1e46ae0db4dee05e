#include "ditar/topology/device_model.h"

#include "ditar/config/error.h"

#include <array>

namespace ditar {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// Efficiencies and kernel gaps are assumptions until a calibration replaces them (StepScales).
const std::array<DeviceModel, 3>& table() {
  static const std::array<DeviceModel, 3> kModels{{
      {"NVIDIA RTX A5500", true, 80, 1665.0, 34.1, 68.2, 136.4, 768.0, 6.0, 24564 * kMiB, 4, 13.0,
       1.5, 0.80, 0.45, 0.88,
       "derived: 80 SM x 1024 dense FP16 FLOP/clk x 1665 MHz boost (the advertised 272.8 is "
       "2:4 sparse); 384 bit x 16 Gbps; memory with ECC off; NVLink: an RTX A6000 pair reported at "
       "52.2 GB/s over 4 links"},
      {"NVIDIA RTX A6000", true, 84, 1800.0, 38.7, 77.4, 154.8, 768.0, 6.0, 49140 * kMiB, 4, 13.0,
       1.5, 0.80, 0.45, 0.88,
       "derived: 84 SM x 1024 dense FP16 FLOP/clk x 1800 MHz boost; the A5500's chip, NVLink as "
       "reported for a pair"},
      {"NVIDIA H200", true, 132, 1830.0, 66.9, 494.7, 989.4, 4800.0, 50.0, 143771 * kMiB, 18, 20.6,
       1.2, 0.65, 0.40, 0.85,
       "derived: 132 SM x 4096 dense FP16 FLOP/clk x 1830 MHz boost; vendor's 4.8 TB/s; NVLink as "
       "NCCL models sm_90 links"},
  }};
  return kModels;
}

}  // namespace

bool is_target_gpu(std::string_view full_name) noexcept { return full_name == kTargetGpuName; }

int element_bytes(Arithmetic arithmetic) noexcept { return arithmetic == Arithmetic::kF16 ? 2 : 4; }

double DeviceModel::peak_flops(Arithmetic arithmetic) const noexcept {
  switch (arithmetic) {
    case Arithmetic::kF32:
      return f32_tflops * 1e12;
    case Arithmetic::kTf32:
      return tf32_tflops * 1e12;
    case Arithmetic::kF16:
      break;
  }
  return f16_tflops * 1e12;
}

DeviceModel DeviceModel::at_clock(double mhz) const {
  require(mhz > 0.0, "a clock must be above 0 MHz");
  require(boost_mhz > 0.0, "no clock is known for " + name + "; leave --clock-mhz out");
  DeviceModel clocked = *this;
  for (double* peak : {&clocked.f32_tflops, &clocked.tf32_tflops, &clocked.f16_tflops}) {
    *peak *= mhz / boost_mhz;
  }
  clocked.boost_mhz = mhz;
  return clocked;
}

std::span<const DeviceModel> device_models() { return table(); }

const DeviceModel* find_device_model(std::string_view full_name) noexcept {
  for (const DeviceModel& model : table()) {
    if (model.name == full_name) return &model;
  }
  return nullptr;
}

DeviceModel cpu_model(int cores) {
  require(cores >= 1, "a CPU model needs at least one core, not " + std::to_string(cores));
  DeviceModel model;
  model.name = "CPU";
  model.gpu = false;
  model.sm_count = cores;
  // 2 FMA units x 8 floats x 2 FLOP x 2.5 GHz; FP16 is stored, not computed.
  model.f32_tflops = model.tf32_tflops = model.f16_tflops = 0.08 * cores;
  model.memory_gb_per_s = 10.0 * cores;
  model.cache_mb = 2.0 * cores;
  model.memory_bytes = 0;  // unknown: no plan is refused for it
  model.kernel_gap_us = 2.0;
  model.matmul_efficiency = 0.7;
  model.attention_efficiency = 0.4;
  model.memory_efficiency = 0.7;
  model.source = "assumed: 2 x 256-bit FMA per core at 2.5 GHz, 10 GB/s of memory per core";
  return model;
}

}  // namespace ditar
