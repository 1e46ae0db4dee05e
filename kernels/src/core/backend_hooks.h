// What core asks of the CUDA backend. src/core/device_cpu_only.cc refuses each of them by name;
// a build with CUDA links its own definitions instead. Internal to kernels; thread-safe.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

namespace ditar::detail {

[[noreturn]] void throw_no_cuda(Device device);

MemoryResource& cuda_resource(Device device);
void cuda_copy(void* dst, Device dst_device, const void* src, Device src_device,
               std::size_t size_bytes, StreamView stream);
void cuda_fill(void* dst, Device device, int value, std::size_t size_bytes, StreamView stream);
void cuda_convert(ConstTensorView src, TensorView dst, StreamView stream);
void* cuda_stream_create(Device device);
void cuda_stream_destroy(Device device, void* native) noexcept;
void cuda_stream_synchronize(Device device, void* native);
void* cuda_event_create(Device device, bool timed);
void cuda_event_destroy(Device device, void* native) noexcept;
void cuda_event_record(Device device, void* event, void* stream);
void cuda_event_wait(Device device, void* event, void* stream);
bool cuda_event_reached(Device device, void* event);
void cuda_event_synchronize(Device device, void* event);
float cuda_event_elapsed_ms(Device device, void* start, void* stop);
void cuda_capture_begin(Device device, void* stream);
/// The recorded work, ready to launch; never null.
void* cuda_capture_end(Device device, void* stream);
void cuda_capture_abandon(Device device, void* stream) noexcept;
void cuda_graph_launch(Device device, void* graph, void* stream);
void cuda_graph_destroy(void* graph) noexcept;

}  // namespace ditar::detail
