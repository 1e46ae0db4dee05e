#include "ditar/kernels/shape.h"

#include "ditar/config/error.h"

namespace ditar {

Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  require(sizes.size() <= static_cast<std::size_t>(kMaxRank), "a shape has at most 6 axes");
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw InvalidArgument("size of axis " + std::to_string(rank_) + " is " +
                            std::to_string(size) + "; sizes are 0 or more");
    }
    sizes_[static_cast<std::size_t>(rank_++)] = size;
  }
}

std::int64_t Shape::operator[](int axis) const {
  const int at = axis < 0 ? axis + rank_ : axis;
  if (at < 0 || at >= rank_) {
    throw InvalidArgument("axis " + std::to_string(axis) + " is outside shape " + to_string(*this));
  }
  return sizes_[static_cast<std::size_t>(at)];
}

std::int64_t Shape::count() const noexcept {
  std::int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= sizes_[static_cast<std::size_t>(i)];
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + ")";
}

}  // namespace ditar
