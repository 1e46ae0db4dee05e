// Linear with INT8 products on the CPU: what a W8A8 GEMM computes, so that its quality can be
// judged without a GPU. Symmetric: one scale per output row of the weight, one per row of x found
// as it comes. Sums are exact integers, so bits depend on neither instruction set nor threads.
#include "linear_onednn.h"
#include "ops/linear_backend.h"
#include "parallel_for.h"
#include "reference_math.h"
#include "simd_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ditar {
namespace {

constexpr int kLevels = 127;

/// Writes round(row / scale) and gives the scale; NaN, with zeros for values, if the row holds what
/// is not finite.
template <typename T>
T quantize_row(const T* row, std::int64_t count, std::int8_t* to) {
  T top = 0;
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    finite &= static_cast<bool>(std::isfinite(row[i]));
    top = std::max(top, std::abs(row[i]));
  }
  if (!finite || top == 0) {
    std::fill_n(to, count, std::int8_t{0});
    return finite ? T{0} : std::numeric_limits<T>::quiet_NaN();
  }
  const T scale = top / kLevels, inverse = kLevels / top;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::int8_t>(
        std::clamp(std::nearbyint(row[i] * inverse), T{-kLevels}, T{kLevels}));
  }
  return scale;
}

template <typename T>
class LinearInt8 final : public Linear::Packed {
 public:
  LinearInt8(ConstTensorView weight, ConstTensorView bias)
      : Packed(weight),
        weight_(Shape{out, in}, DType::kI8, Device{}),
        scale_(static_cast<std::size_t>(out)),
        bias_(static_cast<std::size_t>(out), T{0}) {
    for (std::int64_t row = 0; row < out; ++row) {
      scale_[static_cast<std::size_t>(row)] =
          quantize_row(weight.as<T>() + row * in, in, weight_.as<std::int8_t>() + row * in);
    }
    if (!bias.empty()) std::copy_n(bias.as<T>(), out, bias_.begin());
  }

  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView,
           StreamView) const override {
    cpu::parallel_for(
        x.size(0), x.size(0) * in * out / 8, [&](std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t row = begin; row < end; ++row) {
            run_row(x.as<T>() + row * x.stride(0), row, epilogue, y.as<T>() + row * y.stride(0));
          }
        });
  }
  std::size_t packed_bytes() const noexcept override {
    return weight_.view().size_bytes() + (scale_.size() + bias_.size()) * sizeof(T);
  }

 private:
  void run_row(const T* x, std::int64_t row, const LinearEpilogue& epilogue, T* y) const {
    auto* quantized = static_cast<std::int8_t*>(cpu::thread_scratch(1, in));
    const T x_scale = quantize_row(x, in, quantized);
    auto* result =
        static_cast<T*>(cpu::thread_scratch(2, out * static_cast<std::int64_t>(sizeof(T))));
    const auto* weight = weight_.as<std::int8_t>();
    for (std::int64_t n = 0; n < out; ++n) {
      const auto at = static_cast<std::size_t>(n);
      const auto sum = static_cast<T>(cpu::simd().dot_i8(quantized, weight + n * in, in));
      result[n] = sum * (x_scale * scale_[at]) + bias_[at];
    }
    activate(result, epilogue.activation);
    const T* gate = epilogue.gate.empty() ? nullptr
                                          : epilogue.gate.as<T>() + row / epilogue.rows_per_image *
                                                                        epilogue.gate.stride(0);
    const T* residual = epilogue.residual.empty() ? nullptr : epilogue.residual.as<T>() + row * out;
    for (std::int64_t n = 0; n < out; ++n) {
      T value = result[n];
      if (gate != nullptr) value *= gate[n];
      if (residual != nullptr) value += residual[n];
      y[n] = value;
    }
  }
  void activate(T* values, Activation activation) const {
    if (activation == Activation::kNone) return;
    if constexpr (std::is_same_v<T, float>) {
      cpu::simd().activate(values, static_cast<int>(activation), values, out);
    } else {
      for (std::int64_t n = 0; n < out; ++n) {
        values[n] = cpu::activate_reference(values[n], activation);
      }
    }
  }

  Tensor weight_;  ///< (N, K)
  std::vector<T> scale_, bias_;
};

}  // namespace

std::unique_ptr<Linear::Packed> Linear::Packed::make_int8_cpu(ConstTensorView weight,
                                                              ConstTensorView bias) {
  if (weight.dtype() == DType::kF32) return std::make_unique<LinearInt8<float>>(weight, bias);
  return std::make_unique<LinearInt8<double>>(weight, bias);
}

}  // namespace ditar
