// Where memory lives and work runs. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace ditar {

enum class DeviceType : std::uint8_t { kCpu, kCuda };

/// A place: the CPU (index 0) or one CUDA device by its index in this process.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu" or "cuda:0".
std::string to_string(Device device);
/// @throws InvalidArgument if `text` is neither "cpu" nor "cuda" nor "cuda:N".
Device parse_device(const std::string& text);
/// Number of CUDA devices this process sees; 0 in a build without CUDA or without a driver.
int cuda_device_count();
/// "cpu", or the GPU's own "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
std::string device_uuid(Device device);
/// "cpu", or the GPU's full name as its driver gives it.
std::string device_name(Device device);

/// Makes `device` current for the calling thread and restores the former one; never throws on exit.
/// A no-op for the CPU.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;
};

}  // namespace ditar
