// Tensor owns memory, TensorView and ConstTensorView look at it. All are dense and row-major except
// where a view is given strides (in elements). Ops take views and never allocate.
#pragma once

#include "ditar/config/error.h"
#include "ditar/kernels/buffer.h"
#include "ditar/kernels/dtype.h"
#include "ditar/kernels/shape.h"

#include <array>
#include <cstdint>

namespace ditar {

using Strides = std::array<std::int64_t, Shape::kMaxRank>;
/// Row-major strides in elements.
Strides dense_strides(const Shape& shape);

namespace detail {

/// The shared part of both views; Pointer is `void*` or `const void*`.
template <typename Pointer>
class BasicView {
 public:
  BasicView() = default;
  BasicView(Pointer data, Shape shape, DType dtype, Device device)
      : data_(data),
        shape_(shape),
        strides_(dense_strides(shape)),
        dtype_(dtype),
        device_(device) {}
  BasicView(Pointer data, Shape shape, Strides strides, DType dtype, Device device)
      : data_(data), shape_(shape), strides_(strides), dtype_(dtype), device_(device) {}

  Pointer data() const noexcept { return data_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size(int axis) const { return shape_[axis]; }
  std::int64_t count() const noexcept { return shape_.count(); }
  /// Elements from one index of `axis` to the next; a negative axis counts from the end.
  std::int64_t stride(int axis) const {
    return strides_[static_cast<std::size_t>(axis < 0 ? axis + shape_.rank() : axis)];
  }
  DType dtype() const noexcept { return dtype_; }
  Device device() const noexcept { return device_; }
  bool empty() const noexcept { return data_ == nullptr; }
  bool is_dense() const { return strides_ == dense_strides(shape_); }
  std::size_t size_bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }

 protected:
  Pointer data_ = nullptr;
  Shape shape_{};
  Strides strides_{};
  DType dtype_ = DType::kF32;
  Device device_{};
};

}  // namespace detail

class TensorView : public detail::BasicView<void*> {
 public:
  using BasicView::BasicView;
  /// Typed pointer. @throws InvalidArgument if T is not the view's dtype.
  template <typename T>
  T* as() const {
    require(dtype() == dtype_of<T>, "tensor is not of the dtype asked for");
    return static_cast<T*>(data());
  }
  /// The same dense elements under another shape. @throws InvalidArgument if counts differ.
  TensorView reshape(Shape shape) const;
  /// Rows [begin, end) of axis 0.
  TensorView slice(std::int64_t begin, std::int64_t end) const;
};

class ConstTensorView : public detail::BasicView<const void*> {
 public:
  using BasicView::BasicView;
  ConstTensorView(const TensorView& other);  // NOLINT(google-explicit-constructor)
  template <typename T>
  const T* as() const {
    require(dtype() == dtype_of<T>, "tensor is not of the dtype asked for");
    return static_cast<const T*>(data());
  }
  ConstTensorView reshape(Shape shape) const;
  ConstTensorView slice(std::int64_t begin, std::int64_t end) const;
};

/// A view of another shape and strides that begins `offset` elements into the memory of `base`.
TensorView window(const TensorView& base, std::int64_t offset, Shape shape, Strides strides);
ConstTensorView window(const ConstTensorView& base, std::int64_t offset, Shape shape,
                       Strides strides);

class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, DType dtype, Device device)
      : Tensor(shape, dtype, default_resource(device)) {}
  Tensor(Shape shape, DType dtype, MemoryResource& resource);

  TensorView view() noexcept;
  ConstTensorView view() const noexcept;
  operator TensorView() noexcept { return view(); }             // NOLINT
  operator ConstTensorView() const noexcept { return view(); }  // NOLINT
  const Shape& shape() const noexcept { return shape_; }
  DType dtype() const noexcept { return dtype_; }
  Device device() const noexcept { return buffer_.device(); }
  template <typename T>
  T* as() {
    return view().as<T>();
  }
  template <typename T>
  const T* as() const {
    return view().as<T>();
  }

 private:
  Buffer buffer_;
  Shape shape_{};
  DType dtype_ = DType::kF32;
};

/// Enqueues a copy of dense elements of one dtype between any two devices.
void copy(ConstTensorView src, TensorView dst, StreamView stream);
/// Enqueues a copy that converts between floating dtypes; same device.
void convert(ConstTensorView src, TensorView dst, StreamView stream);

}  // namespace ditar
