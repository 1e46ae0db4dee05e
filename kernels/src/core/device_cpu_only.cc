// What a build without CUDA answers for everything that belongs to a CUDA device.
#include "backend_hooks.h"
#include "ditar/config/error.h"

namespace ditar {

int cuda_device_count() { return 0; }

std::string device_uuid(Device device) {
  if (device.type == DeviceType::kCuda) detail::throw_no_cuda(device);
  return "cpu";
}

std::string device_name(Device device) { return device_uuid(device); }

DeviceGuard::DeviceGuard(Device device) {
  if (device.type == DeviceType::kCuda) detail::throw_no_cuda(device);
}
DeviceGuard::~DeviceGuard() = default;

MemoryResource& pinned_resource() { return default_resource(Device{}); }

namespace detail {

void throw_no_cuda(Device device) {
  throw Unavailable("device " + to_string(device) +
                    " needs a build with CUDA; use device cpu or configure the cuda preset");
}

MemoryResource& cuda_resource(Device device) { throw_no_cuda(device); }
void cuda_copy(void*, Device dst, const void*, Device src, std::size_t, StreamView) {
  throw_no_cuda(dst.type == DeviceType::kCuda ? dst : src);
}
void cuda_fill(void*, Device device, int, std::size_t, StreamView) { throw_no_cuda(device); }
void cuda_convert(ConstTensorView src, TensorView, StreamView) { throw_no_cuda(src.device()); }
void* cuda_stream_create(Device device) { throw_no_cuda(device); }
void cuda_stream_destroy(Device, void*) noexcept {}
void cuda_stream_synchronize(Device device, void*) { throw_no_cuda(device); }
void* cuda_event_create(Device device, bool) { throw_no_cuda(device); }
void cuda_event_destroy(Device, void*) noexcept {}
void cuda_event_record(Device device, void*, void*) { throw_no_cuda(device); }
void cuda_event_wait(Device device, void*, void*) { throw_no_cuda(device); }
bool cuda_event_reached(Device device, void*) { throw_no_cuda(device); }
void cuda_event_synchronize(Device device, void*) { throw_no_cuda(device); }
float cuda_event_elapsed_ms(Device device, void*, void*) { throw_no_cuda(device); }
void cuda_capture_begin(Device device, void*) { throw_no_cuda(device); }
void* cuda_capture_end(Device device, void*) { throw_no_cuda(device); }
void cuda_capture_abandon(Device, void*) noexcept {}
void cuda_graph_launch(Device device, void*, void*) { throw_no_cuda(device); }
void cuda_graph_destroy(void*) noexcept {}

}  // namespace detail
}  // namespace ditar
