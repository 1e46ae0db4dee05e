#include "ditar/kernels/graph.h"

#include "backend_hooks.h"
#include "ditar/config/error.h"

#include <utility>

namespace ditar {

Graph::Graph(StreamView stream, const std::function<void()>& body) {
  if (!supported(stream.device())) {
    throw Unavailable("work on " + to_string(stream.device()) + " cannot be recorded as a graph");
  }
  detail::cuda_capture_begin(stream.device(), stream.native());
  try {
    body();
  } catch (...) {
    detail::cuda_capture_abandon(stream.device(), stream.native());
    throw;
  }
  native_ = detail::cuda_capture_end(stream.device(), stream.native());
}

Graph::~Graph() {
  if (native_ != nullptr) detail::cuda_graph_destroy(native_);
}

Graph::Graph(Graph&& other) noexcept : native_(std::exchange(other.native_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(native_, other.native_);
  return *this;
}

void Graph::launch(StreamView stream) const {
  require(native_ != nullptr, "a graph that recorded nothing was launched");
  detail::cuda_graph_launch(stream.device(), native_, stream.native());
}

}  // namespace ditar
