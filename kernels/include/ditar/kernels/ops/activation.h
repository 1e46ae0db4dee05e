// Pointwise ops. All stateless and thread-safe; outputs may alias inputs exactly, not partly.
// dtypes f32, f64 on the CPU, f32, f16, bf16 on CUDA (computed in f32); every view dense.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

#include <cstdint>

namespace ditar {

/// Pointwise function fused behind a linear layer or run alone.
/// kGeluTanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016, eq. 2).
/// kSilu: x / (1 + exp(-x)).
enum class Activation : std::uint8_t { kNone, kGeluTanh, kSilu };

/// y = activation(x); any shape, x and y alike. NaN stays NaN.
/// @throws InvalidArgument naming what differs between x and y.
void activate(ConstTensorView x, Activation activation, TensorView y, StreamView stream);
inline void silu(ConstTensorView x, TensorView y, StreamView stream) {
  activate(x, Activation::kSilu, y, stream);
}
/// y = a + b; any shape, all three alike.
void add(ConstTensorView a, ConstTensorView b, TensorView y, StreamView stream);
bool supports_pointwise(Device device, DType dtype) noexcept;

}  // namespace ditar
