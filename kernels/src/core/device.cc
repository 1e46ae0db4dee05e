#include "ditar/kernels/device.h"

#include "ditar/config/error.h"

#include <charconv>

namespace ditar {

std::string to_string(Device device) {
  if (device.type == DeviceType::kCpu) return "cpu";
  return "cuda:" + std::to_string(device.index);
}

Device parse_device(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceType::kCuda, 0};
  const std::string prefix = "cuda:";
  if (text.starts_with(prefix)) {
    int index = -1;
    const char* first = text.data() + prefix.size();
    const char* last = text.data() + text.size();
    const auto [end, code] = std::from_chars(first, last, index);
    if (code == std::errc{} && end == last && index >= 0) return {DeviceType::kCuda, index};
  }
  throw InvalidArgument("device \"" + text + "\" is unknown; use cpu, cuda or cuda:N");
}

}  // namespace ditar
