#include "arena.h"

namespace ditar {

std::size_t Arena::add(Shape shape, DType dtype) {
  constexpr std::size_t kAlign = 256;
  slots_.push_back({planned_, shape, dtype});
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * size_of(dtype);
  planned_ += (bytes + kAlign - 1) / kAlign * kAlign;
  return slots_.size() - 1;
}

void Arena::allocate() {
  if (planned_ <= buffer_.size_bytes()) return;
  buffer_ = Buffer();
  buffer_ = Buffer(planned_, device_);
}

TensorView Arena::view(std::size_t slot) {
  const Slot& s = slots_.at(slot);
  require(planned_ <= buffer_.size_bytes(), "arena: view before allocate");
  return TensorView(static_cast<char*>(buffer_.data()) + s.offset, s.shape, s.dtype, device_);
}

}  // namespace ditar
