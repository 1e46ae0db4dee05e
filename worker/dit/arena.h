// One allocation that holds many tensors, planned before it is made. Two phases: add() every
// tensor, allocate() once, then view(). Owns its memory; move-only; one thread at a time.
#pragma once

#include "ditar/kernels/tensor.h"

#include <vector>

namespace ditar {

class Arena {
 public:
  explicit Arena(Device device) : device_(device) {}

  /// Forgets the plan, keeps the memory for the next one.
  void clear() {
    slots_.clear();
    planned_ = 0;
  }
  /// Plans a dense tensor, aligned to 256 bytes. @return its slot for view().
  std::size_t add(Shape shape, DType dtype);
  /// Makes the memory hold the plan; it is taken anew only if it must grow. Views of an earlier
  /// allocation end here. @throws OutOfMemory.
  void allocate();
  /// Valid until the next allocate().
  TensorView view(std::size_t slot);
  /// Bytes of the plan; the same number before and after allocate().
  std::int64_t planned_bytes() const noexcept { return static_cast<std::int64_t>(planned_); }
  /// Bytes held, by this plan or a larger one before it.
  std::int64_t held_bytes() const noexcept {
    return static_cast<std::int64_t>(buffer_.size_bytes());
  }

 private:
  struct Slot {
    std::size_t offset = 0;
    Shape shape;
    DType dtype = DType::kF32;
  };
  Device device_;
  std::vector<Slot> slots_;
  std::size_t planned_ = 0;
  Buffer buffer_;
};

}  // namespace ditar
