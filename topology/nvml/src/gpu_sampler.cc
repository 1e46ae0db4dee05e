#include "ditar/topology_nvml/gpu_sampler.h"

#include "ditar/config/error.h"
#include "nvml_api.h"

#include <algorithm>
#include <array>

namespace ditar {
namespace {

using nvml::Api;
using nvml::Device;
using nvml::kSuccess;

std::optional<std::uint64_t> used_bytes(const Api& api, Device device) {
  nvml::Memory memory{};
  if (!api.memory || api.memory(device, &memory) != kSuccess) return std::nullopt;
  return memory.used;
}

std::optional<std::vector<std::uint32_t>> process_ids(const Api& api, Device device) {
  constexpr unsigned kRoom = 256;
  std::array<nvml::ProcessInfo, kRoom> raw{};
  unsigned count = kRoom;
  if (!api.processes || api.processes(device, &count, raw.data()) != kSuccess) return std::nullopt;
  std::vector<std::uint32_t> ids;
  for (unsigned i = 0; i < std::min(count, kRoom); ++i) ids.push_back(raw[i].pid);
  std::sort(ids.begin(), ids.end());
  return ids;
}

bool has_uuid(const Api& api, Device device, const std::string& wanted) {
  std::array<char, 96> uuid{};
  if (!api.uuid || api.uuid(device, uuid.data(), unsigned{uuid.size()}) != kSuccess) return false;
  uuid.back() = '\0';
  return wanted == uuid.data();
}

Device find_device(const Api& api, const std::string& uuid) {
  unsigned count = 0;
  if (api.count(&count) != kSuccess) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (api.handle(i, &device) == kSuccess && has_uuid(api, device, uuid)) return device;
  }
  throw Unavailable("GPU " + uuid + " is not there; list the GPUs with: dit-ar topology");
}

}  // namespace

struct GpuSampler::Impl {
  explicit Impl(const std::string& path) : library(path) {}
  nvml::Library library;
  std::vector<Device> devices;
};

GpuSampler::GpuSampler(const std::vector<std::string>& uuids, const std::string& nvml_library)
    : impl_(std::make_unique<Impl>(nvml_library)) {
  for (const std::string& uuid : uuids) {
    impl_->devices.push_back(find_device(impl_->library.api(), uuid));
  }
}

GpuSampler::~GpuSampler() = default;

std::vector<GpuSample> GpuSampler::sample() const {
  const Api& api = impl_->library.api();
  std::vector<GpuSample> all;
  for (const Device device : impl_->devices) {
    GpuSample sample;
    unsigned long long bits = 0;
    if (api.clock_reasons && api.clock_reasons(device, &bits) == kSuccess) {
      sample.clock_reasons = bits;
    }
    nvml::Violation violation{};
    if (api.violation && api.violation(device, nvml::kPolicyThermal, &violation) == kSuccess) {
      sample.thermal_violation_ns = violation.violation_ns;
    }
    unsigned value = 0;
    if (api.clock && api.clock(device, nvml::kClockSm, &value) == kSuccess) {
      sample.sm_clock_mhz = value;
    }
    if (api.temperature && api.temperature(device, 0, &value) == kSuccess) {
      sample.temperature_c = value;
    }
    sample.memory_used_bytes = used_bytes(api, device);
    sample.processes = process_ids(api, device);
    all.push_back(std::move(sample));
  }
  return all;
}

std::optional<std::uint64_t> GpuSampler::memory_used() const {
  std::uint64_t sum = 0;
  for (const Device device : impl_->devices) {
    const auto used = used_bytes(impl_->library.api(), device);
    if (!used) return std::nullopt;
    sum += *used;
  }
  return sum;
}

}  // namespace ditar
