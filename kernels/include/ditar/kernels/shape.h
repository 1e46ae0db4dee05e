// Sizes of a tensor, outermost axis first. A small value type without allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace ditar {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  /// @throws InvalidArgument if there are more than kMaxRank sizes or one is negative.
  Shape(std::initializer_list<std::int64_t> sizes);

  int rank() const noexcept { return rank_; }
  /// Size of axis `axis`; a negative axis counts from the end. @throws InvalidArgument out of
  /// range.
  std::int64_t operator[](int axis) const;
  /// Number of elements; 1 for rank 0.
  std::int64_t count() const noexcept;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

/// "(2, 49, 128)".
std::string to_string(const Shape& shape);

}  // namespace ditar
