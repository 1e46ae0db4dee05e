// The norm and modulation of an adaLN block. Stateless, thread-safe. x, y, h dense (B, T, D);
// shift, scale and gate are (B, D) with unit column stride and any row stride, so that rows of a
// hoisted table are read in place (a row stride of 0 shares one row among all images). f32, f64 on
// the CPU; f32, f16, bf16 on CUDA, where x may be f32 while all others are 16-bit. LN(x) = (x -
// mean) / sqrt(var + eps) over D, biased variance, no affine part; two passes.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

namespace ditar {

bool supports_norm(Device device, DType dtype) noexcept;

/// h = LN(x) * (1 + scale) + shift, per image. h may be x.
/// @throws InvalidArgument naming the operand and axis at fault, or eps < 0.
void layer_norm_modulate(ConstTensorView x, ConstTensorView shift, ConstTensorView scale,
                         double eps, TensorView h, StreamView stream);

/// x += gate * y, per image.
void gate_residual(ConstTensorView y, ConstTensorView gate, TensorView x, StreamView stream);

/// x += gate * y, then h = LN(x) * (1 + scale) + shift: the two ops above in one pass, same bits.
/// h must not overlap x or y.
void gate_residual_layer_norm_modulate(ConstTensorView y, ConstTensorView gate,
                                       ConstTensorView shift, ConstTensorView scale, double eps,
                                       TensorView x, TensorView h, StreamView stream);

}  // namespace ditar
