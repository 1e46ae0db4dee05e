// A recorded run of enqueued work that is launched again as one: on CUDA a graph, without the cost
// of each launch. The recorded work keeps its pointers and host values; what the pointers show may
// change between launches. Move-only; one thread at a time.
#pragma once

#include "ditar/kernels/stream.h"

#include <functional>

namespace ditar {

class Graph {
 public:
  Graph() = default;
  /// Records what `body` enqueues on `stream`, without running it. `body` may neither allocate on
  /// the device, nor wait, nor touch other streams. @throws CudaError if it does, and what `body`
  /// throws; Unavailable on the CPU, whose ops run at once.
  Graph(StreamView stream, const std::function<void()>& body);
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Enqueues the recorded work. @throws InvalidArgument if nothing was recorded.
  void launch(StreamView stream) const;
  bool empty() const noexcept { return native_ == nullptr; }
  static bool supported(Device device) noexcept { return device.type == DeviceType::kCuda; }

 private:
  void* native_ = nullptr;
};

}  // namespace ditar
