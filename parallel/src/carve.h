// Cuts one workspace into tensors; without memory it only counts. Private to parallel/src.
#pragma once

#include "ditar/kernels/tensor.h"

namespace ditar {

class Carve {
 public:
  /// `memory` null: count only.
  Carve(void* memory, Device device) : memory_(static_cast<char*>(memory)), device_(device) {}

  TensorView take(Shape shape, DType dtype) {
    void* data = memory_ == nullptr ? nullptr : memory_ + bytes_;
    const TensorView view(data, shape, dtype, device_);
    bytes_ += (view.size_bytes() + 255) / 256 * 256;
    return view;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  char* memory_;
  Device device_;
  std::size_t bytes_ = 0;
};

}  // namespace ditar
