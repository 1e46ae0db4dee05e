// Element-wise sums of host memory in a fixed order, shared by the host communicators: 16-bit
// floats are added in FP32 and rounded once. Stateless; thread-safe.
#pragma once

#include "ditar/kernels/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ditar {

/// out[i] = parts[0][i] + parts[1][i] + ... in that order. `out` may be one of the parts.
/// @throws InvalidArgument for kI8 and kU8, where a sum would wrap.
void sum_in_order(std::span<const void* const> parts, void* out, std::int64_t count, DType dtype);

}  // namespace ditar
