// The CUDA side of devices, memory, streams and events: what core/backend_hooks.h asks for.
#include "backend_hooks.h"
#include "cuda_check.h"
#include "ditar/config/error.h"

#include <cuda_runtime.h>

#include <mutex>
#include <vector>

namespace ditar {
namespace {

cudaStream_t native(StreamView stream) { return static_cast<cudaStream_t>(stream.native()); }

class CudaResource final : public MemoryResource {
 public:
  explicit CudaResource(int index) : index_(index) {}
  void* allocate(std::size_t size_bytes) override {
    if (size_bytes == 0) return nullptr;
    const DeviceGuard guard({DeviceType::kCuda, index_});
    void* pointer = nullptr;
    const cudaError_t code = cudaMalloc(&pointer, size_bytes);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free_bytes = 0, total_bytes = 0;
      cudaMemGetInfo(&free_bytes, &total_bytes);
      throw OutOfMemory("cuda:" + std::to_string(index_) + " cannot give " +
                        std::to_string(size_bytes) + " bytes: " + std::to_string(free_bytes) +
                        " of " + std::to_string(total_bytes) +
                        " are free; use fewer images, a smaller model or a split over more GPUs");
    }
    cuda::check(code, "cudaMalloc");
    return pointer;
  }
  void deallocate(void* pointer, std::size_t) noexcept override {
    if (pointer != nullptr) cudaFree(pointer);  // fails harmlessly while the driver shuts down
  }
  Device device() const noexcept override { return {DeviceType::kCuda, index_}; }

 private:
  int index_;
};

class PinnedResource final : public MemoryResource {
 public:
  void* allocate(std::size_t size_bytes) override {
    if (size_bytes == 0) return nullptr;
    void* pointer = nullptr;
    cuda::check(cudaMallocHost(&pointer, size_bytes), "cudaMallocHost");
    return pointer;
  }
  void deallocate(void* pointer, std::size_t) noexcept override {
    if (pointer != nullptr) cudaFreeHost(pointer);
  }
  Device device() const noexcept override { return {}; }
};

}  // namespace

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::string device_uuid(Device device) {
  if (device.type == DeviceType::kCpu) return "cpu";
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device.index), "cudaGetDeviceProperties");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::string device_name(Device device) {
  if (device.type == DeviceType::kCpu) return "cpu";
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device.index), "cudaGetDeviceProperties");
  return properties.name;
}

DeviceGuard::DeviceGuard(Device device) {
  if (device.type != DeviceType::kCuda) return;
  int current = 0;
  cuda::check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == device.index) return;
  cuda::check(cudaSetDevice(device.index), "cudaSetDevice");
  previous_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

MemoryResource& pinned_resource() {
  static auto& pinned = *new PinnedResource;  // never freed: buffers may outlive static objects
  return cuda_device_count() > 0 ? static_cast<MemoryResource&>(pinned)
                                 : default_resource(Device{});
}

namespace detail {

void throw_no_cuda(Device device) {
  throw Unavailable("device " + to_string(device) + " does not exist: this machine shows " +
                    std::to_string(cuda_device_count()) + " CUDA devices");
}

MemoryResource& cuda_resource(Device device) {
  static std::mutex mutex;
  static auto& resources = *new std::vector<CudaResource*>;  // never freed, as the pinned one
  if (device.index < 0 || device.index >= cuda_device_count()) throw_no_cuda(device);
  const std::scoped_lock lock(mutex);
  while (static_cast<int>(resources.size()) <= device.index) {
    resources.push_back(new CudaResource(static_cast<int>(resources.size())));
  }
  return *resources[static_cast<std::size_t>(device.index)];
}

void cuda_copy(void* dst, Device, const void* src, Device, std::size_t size_bytes,
               StreamView stream) {
  const DeviceGuard guard(stream.device());
  cuda::check(cudaMemcpyAsync(dst, src, size_bytes, cudaMemcpyDefault, native(stream)),
              "cudaMemcpyAsync");
}

void cuda_fill(void* dst, Device device, int value, std::size_t size_bytes, StreamView stream) {
  const DeviceGuard guard(device);
  cuda::check(cudaMemsetAsync(dst, value, size_bytes, native(stream)), "cudaMemsetAsync");
}

void* cuda_stream_create(Device device) {
  const DeviceGuard guard(device);
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

void cuda_stream_destroy(Device, void* stream) noexcept {
  cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

void cuda_stream_synchronize(Device device, void* stream) {
  const DeviceGuard guard(device);
  cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "cudaStreamSynchronize");
}

void* cuda_event_create(Device device, bool timed) {
  const DeviceGuard guard(device);
  cudaEvent_t event = nullptr;
  const unsigned int flags = timed ? cudaEventDefault : cudaEventDisableTiming;
  cuda::check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreate");
  return event;
}

void cuda_event_destroy(Device, void* event) noexcept {
  cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

void cuda_event_record(Device device, void* event, void* stream) {
  const DeviceGuard guard(device);
  cuda::check(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
              "cudaEventRecord");
}

void cuda_event_wait(Device device, void* event, void* stream) {
  const DeviceGuard guard(device);
  cuda::check(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event)),
      "cudaStreamWaitEvent");
}

bool cuda_event_reached(Device device, void* event) {
  const DeviceGuard guard(device);
  const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (state == cudaErrorNotReady) return false;
  cuda::check(state, "cudaEventQuery");
  return true;
}

void cuda_event_synchronize(Device device, void* event) {
  const DeviceGuard guard(device);
  cuda::check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "cudaEventSynchronize");
}

float cuda_event_elapsed_ms(Device device, void* start, void* stop) {
  const DeviceGuard guard(device);
  float milliseconds = 0.0F;
  cuda::check(cudaEventSynchronize(static_cast<cudaEvent_t>(stop)), "cudaEventSynchronize");
  cuda::check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(start),
                                   static_cast<cudaEvent_t>(stop)),
              "cudaEventElapsedTime");
  return milliseconds;
}

// Thread-local capture: other threads may allocate meanwhile, the body may not.
void cuda_capture_begin(Device device, void* stream) {
  const DeviceGuard guard(device);
  cuda::check(
      cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture");
}

void* cuda_capture_end(Device device, void* stream) {
  const DeviceGuard guard(device);
  cudaGraph_t graph = nullptr;
  cuda::check(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph),
              "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  cuda::check(code, "cudaGraphInstantiate");
  return ready;
}

void cuda_capture_abandon(Device, void* stream) noexcept {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void cuda_graph_launch(Device device, void* graph, void* stream) {
  const DeviceGuard guard(device);
  cuda::check(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)),
      "cudaGraphLaunch");
}

void cuda_graph_destroy(void* graph) noexcept {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

}  // namespace detail
}  // namespace ditar
