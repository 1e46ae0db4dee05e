// Strided copies on the CPU: one row of the last axis per iteration, memory bound.
#include "ops/cpu_ops.h"
#include "parallel_for.h"

#include <cstring>

namespace ditar::cpu {

void rearrange(DType dtype, const RearrangeArgs& a) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t rows = a.sizes[0] * a.sizes[1] * a.sizes[2];
  const auto row_bytes = static_cast<std::size_t>(a.sizes[3] * element);
  parallel_for(rows, rows * a.sizes[3], [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t i2 = row % a.sizes[2];
      const std::int64_t i1 = row / a.sizes[2] % a.sizes[1];
      const std::int64_t i0 = row / (a.sizes[2] * a.sizes[1]);
      const auto offset = [&](const auto& strides) {
        return (i0 * strides[0] + i1 * strides[1] + i2 * strides[2]) * element;
      };
      std::memcpy(static_cast<char*>(a.to) + offset(a.to_strides),
                  static_cast<const char*>(a.from) + offset(a.from_strides), row_bytes);
    }
  });
}

}  // namespace ditar::cpu
