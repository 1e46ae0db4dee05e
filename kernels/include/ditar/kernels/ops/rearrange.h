// Copies between strided views: the packing and unpacking around exchanges. A pure copy: stateless,
// thread-safe, exact. f32 or f64 on the CPU; f32, f16, bf16 on CUDA.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

namespace ditar {

bool supports_rearrange(Device device, DType dtype) noexcept;

/// to[i..] = from[i..] for every index. Both views have one shape of 1 to 4 axes and dtype, unit
/// stride over the last axis and any others; they must not overlap.
/// @throws InvalidArgument naming the operand and axis at fault.
void rearrange(ConstTensorView from, TensorView to, StreamView stream);

}  // namespace ditar
