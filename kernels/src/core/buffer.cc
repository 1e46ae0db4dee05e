#include "ditar/kernels/buffer.h"

#include "backend_hooks.h"
#include "ditar/config/error.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace ditar {
namespace {

class CpuResource final : public MemoryResource {
 public:
  void* allocate(std::size_t size_bytes) override {
    if (size_bytes == 0) return nullptr;
    constexpr std::size_t kAlignment = 256;
    const std::size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* pointer = rounded < size_bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
    if (pointer == nullptr) {
      throw OutOfMemory("cannot allocate " + std::to_string(size_bytes) +
                        " bytes of host memory; use fewer images or a smaller model");
    }
    return pointer;
  }
  void deallocate(void* pointer, std::size_t) noexcept override { std::free(pointer); }
  Device device() const noexcept override { return {}; }
};

bool on_cuda(Device device) { return device.type == DeviceType::kCuda; }

}  // namespace

MemoryResource& default_resource(Device device) {
  static auto& cpu = *new CpuResource;  // never freed: buffers may outlive static objects
  if (on_cuda(device)) return detail::cuda_resource(device);
  return cpu;
}

Buffer::Buffer(std::size_t size_bytes, MemoryResource& resource)
    : data_(resource.allocate(size_bytes)),
      size_bytes_(size_bytes),
      resource_(&resource),
      device_(resource.device()) {}

Buffer::~Buffer() {
  if (resource_ != nullptr) resource_->deallocate(data_, size_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      resource_(std::exchange(other.resource_, nullptr)),
      device_(other.device_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(resource_, other.resource_);
  std::swap(device_, other.device_);
  return *this;
}

void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device,
                std::size_t size_bytes, StreamView stream) {
  if (size_bytes == 0) return;
  if (on_cuda(dst_device) || on_cuda(src_device)) {
    detail::cuda_copy(dst, dst_device, src, src_device, size_bytes, stream);
  } else {
    std::memmove(dst, src, size_bytes);
  }
}

void fill_bytes(void* dst, Device device, int value, std::size_t size_bytes, StreamView stream) {
  if (size_bytes == 0) return;
  if (on_cuda(device)) {
    detail::cuda_fill(dst, device, value, size_bytes, stream);
  } else {
    std::memset(dst, value, size_bytes);
  }
}

}  // namespace ditar
