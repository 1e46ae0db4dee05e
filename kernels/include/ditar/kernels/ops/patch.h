// Images to token rows and back. Pure copies: stateless, thread-safe, exact. Dense f32 or f64 on
// the CPU; f32, f16, bf16 on CUDA, where image and tokens may differ in dtype (rounded to nearest).
// Tokens run row-major over the (height/p, width/p) grid; rectangular images are fine.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

namespace ditar {

bool supports_patch(Device device, DType dtype) noexcept;

/// tokens[b*T + t][(c*p + ph)*p + pw] = image[b][c][th*p + ph][tw*p + pw]: the order of a
/// flattened convolution kernel (D, C, p, p).
/// @param image (B, C, height, width)   @param tokens (B*T, C*p*p), T = (height/p) (width/p)
/// @throws InvalidArgument naming the axis, or if p does not divide height and width.
void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens, StreamView stream);

/// image[b][c][th*p + ph][tw*p + pw] = tokens[b*T + t][(ph*p + pw)*C + c], channel fastest: the
/// order of the final linear layer.
/// @param tokens (B*T, p*p*C)   @param image (B, C, height, width)
void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image, StreamView stream);

}  // namespace ditar
