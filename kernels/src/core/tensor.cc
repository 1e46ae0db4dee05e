#include "ditar/kernels/tensor.h"

#include "backend_hooks.h"

namespace ditar {
namespace {

template <typename View>
View reshaped(const View& view, Shape shape) {
  require(view.is_dense(), "only a dense tensor can be reshaped");
  if (view.count() != shape.count()) {
    throw InvalidArgument("cannot see " + to_string(view.shape()) + " as " + to_string(shape) +
                          ": the element counts differ");
  }
  return View(view.data(), shape, view.dtype(), view.device());
}

template <typename View, typename Byte>
View sliced(const View& view, std::int64_t begin, std::int64_t end) {
  const Shape& shape = view.shape();
  require(shape.rank() >= 1, "a tensor of rank 0 has no rows");
  if (begin < 0 || begin > end || end > shape[0]) {
    throw InvalidArgument("rows [" + std::to_string(begin) + ", " + std::to_string(end) +
                          ") are outside axis 0 of " + to_string(shape));
  }
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[static_cast<std::size_t>(i)] = shape[i];
  sizes[0] = end - begin;
  const Shape out = [&] {
    switch (shape.rank()) {
      case 1:
        return Shape{sizes[0]};
      case 2:
        return Shape{sizes[0], sizes[1]};
      case 3:
        return Shape{sizes[0], sizes[1], sizes[2]};
      case 4:
        return Shape{sizes[0], sizes[1], sizes[2], sizes[3]};
      case 5:
        return Shape{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]};
      default:
        return Shape{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
    }
  }();
  Strides strides{};
  for (int i = 0; i < shape.rank(); ++i) strides[static_cast<std::size_t>(i)] = view.stride(i);
  const auto offset = begin * view.stride(0) * static_cast<std::int64_t>(size_of(view.dtype()));
  return View(view.data() == nullptr ? nullptr : static_cast<Byte*>(view.data()) + offset, out,
              strides, view.dtype(), view.device());
}

double load(const void* data, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::kF64:
      return static_cast<const double*>(data)[i];
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF16:
      return to_float(static_cast<const Half*>(data)[i]);
    case DType::kBF16:
      return to_float(static_cast<const BFloat16*>(data)[i]);
    default:
      throw InvalidArgument("convert takes floating dtypes, not " + std::string(to_string(dtype)));
  }
}

void store(void* data, DType dtype, std::int64_t i, double value) {
  switch (dtype) {
    case DType::kF64:
      static_cast<double*>(data)[i] = value;
      return;
    case DType::kF32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case DType::kF16:
      static_cast<Half*>(data)[i] = to_half(static_cast<float>(value));
      return;
    case DType::kBF16:
      static_cast<BFloat16*>(data)[i] = to_bfloat16(static_cast<float>(value));
      return;
    default:
      throw InvalidArgument("convert takes floating dtypes, not " + std::string(to_string(dtype)));
  }
}

void check_pair(const ConstTensorView& src, const TensorView& dst, const char* op) {
  if (src.shape() != dst.shape()) {
    throw InvalidArgument(std::string(op) + ": source " + to_string(src.shape()) +
                          " and destination " + to_string(dst.shape()) + " differ");
  }
  require(src.is_dense() && dst.is_dense(), std::string(op) + ": both tensors must be dense");
}

}  // namespace

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = step;
    step *= shape[i];
  }
  return strides;
}

TensorView TensorView::reshape(Shape shape) const { return reshaped(*this, shape); }
TensorView TensorView::slice(std::int64_t begin, std::int64_t end) const {
  return sliced<TensorView, char>(*this, begin, end);
}

ConstTensorView::ConstTensorView(const TensorView& other)
    : BasicView(other.data(), other.shape(), other.dtype(), other.device()) {
  for (int i = 0; i < shape_.rank(); ++i) strides_[static_cast<std::size_t>(i)] = other.stride(i);
}
ConstTensorView ConstTensorView::reshape(Shape shape) const { return reshaped(*this, shape); }
ConstTensorView ConstTensorView::slice(std::int64_t begin, std::int64_t end) const {
  return sliced<ConstTensorView, const char>(*this, begin, end);
}

Tensor::Tensor(Shape shape, DType dtype, MemoryResource& resource)
    : buffer_(static_cast<std::size_t>(shape.count()) * size_of(dtype), resource),
      shape_(shape),
      dtype_(dtype) {}

TensorView Tensor::view() noexcept {
  return TensorView(buffer_.data(), shape_, dtype_, buffer_.device());
}
ConstTensorView Tensor::view() const noexcept {
  return ConstTensorView(buffer_.data(), shape_, dtype_, buffer_.device());
}

void copy(ConstTensorView src, TensorView dst, StreamView stream) {
  check_pair(src, dst, "copy");
  require(src.dtype() == dst.dtype(), "copy: dtypes differ; use convert");
  copy_bytes(dst.data(), dst.device(), src.data(), src.device(), src.size_bytes(), stream);
}

void convert(ConstTensorView src, TensorView dst, StreamView stream) {
  check_pair(src, dst, "convert");
  require(src.device() == dst.device(), "convert: both tensors must be on one device");
  if (src.device().type == DeviceType::kCuda) return detail::cuda_convert(src, dst, stream);
  if (src.dtype() == dst.dtype()) return copy(src, dst, stream);
  for (std::int64_t i = 0; i < src.count(); ++i) {
    store(dst.data(), dst.dtype(), i, load(src.data(), src.dtype(), i));
  }
}

TensorView window(const TensorView& base, std::int64_t offset, Shape shape, Strides strides) {
  auto* data =
      static_cast<char*>(base.data()) + offset * static_cast<std::int64_t>(size_of(base.dtype()));
  return {data, shape, strides, base.dtype(), base.device()};
}

ConstTensorView window(const ConstTensorView& base, std::int64_t offset, Shape shape,
                       Strides strides) {
  const auto* data = static_cast<const char*>(base.data()) +
                     offset * static_cast<std::int64_t>(size_of(base.dtype()));
  return {data, shape, strides, base.dtype(), base.device()};
}

}  // namespace ditar
