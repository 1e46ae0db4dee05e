// Owned bytes on a device. MemoryResource hands them out; Buffer owns one allocation and is
// move-only. Not thread-safe; a resource may be shared by threads only if its kind says so.
#pragma once

#include "ditar/kernels/device.h"
#include "ditar/kernels/stream.h"

#include <cstddef>

namespace ditar {

/// Allocates bytes on one device, aligned to at least 256 bytes. Sizes of 0 give a null pointer.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// @throws OutOfMemory with the size asked and the size free.
  virtual void* allocate(std::size_t size_bytes) = 0;
  /// Accepts null. Never throws: during process shutdown it lets go silently.
  virtual void deallocate(void* pointer, std::size_t size_bytes) noexcept = 0;
  virtual Device device() const noexcept = 0;
};

/// The plain resource of `device` (aligned_alloc, cudaMalloc); lives for the whole process and is
/// thread-safe.
MemoryResource& default_resource(Device device);
/// Page-locked host memory for staging; plain host memory in a build without CUDA.
MemoryResource& pinned_resource();

class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t size_bytes, MemoryResource& resource);
  Buffer(std::size_t size_bytes, Device device) : Buffer(size_bytes, default_resource(device)) {}
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  Device device() const noexcept { return device_; }

 private:
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  MemoryResource* resource_ = nullptr;
  Device device_{};
};

/// Enqueues a copy between any two devices; blocks only where pageable host memory forces it to.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device,
                std::size_t size_bytes, StreamView stream);
/// Enqueues setting every byte to `value`.
void fill_bytes(void* dst, Device device, int value, std::size_t size_bytes, StreamView stream);

}  // namespace ditar
