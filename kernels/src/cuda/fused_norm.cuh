// Gate + bias + residual + LayerNorm + modulate in one pass over the row, one warp a row.
//
//   x' = x + gate * (y + bias)         (skipped without y)
//   h  = (x' - mean) / sqrt(var + eps) * (1 + scale) + shift      (skipped without h)
//
// x is the residual stream in type R (float, or the model's type T), y, h, gate, shift, scale and bias
// are T; statistics are FP32, two passes over registers. A row is held in registers: kSteps vectors of
// 8 per lane cover D <= 256 * kSteps, D a multiple of 8. Rows of one image share gate, shift, scale.
// Launch: 4 rows a block. Bound: memory (reads x, y; writes x, h once each).
#pragma once

#include <cuda_runtime.h>

#include "vector.cuh"

namespace ditar::cuda {

template <typename T, typename R>
struct FusedNormArguments {
  R* x;                  ///< (rows, D), read and written
  const T* y;            ///< (rows, D) or null
  const T* bias;         ///< (D) or null
  const T* gate;         ///< (images, D) at `modulation_stride`; needed with y
  const T* shift;        ///< (images, D) at `modulation_stride`
  const T* scale;        ///< (images, D) at `modulation_stride`
  T* h;                  ///< (rows, D) or null
  std::int64_t modulation_stride;  ///< elements from one image's vectors to the next
  int rows, rows_per_image, width;
  float epsilon;
};

inline constexpr int kNormRowsPerBlock = 4;

template <typename T, typename R, int kSteps>
__global__ void __launch_bounds__(32 * kNormRowsPerBlock)
    fused_norm_kernel(const FusedNormArguments<T, R> a) {
  const int row = blockIdx.x * kNormRowsPerBlock + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= a.rows) return;
  const std::int64_t base = std::int64_t(row) * a.width;
  const std::int64_t modulation = std::int64_t(row / a.rows_per_image) * a.modulation_stride;

  float x[kSteps][kVector];
  float sum = 0.0F;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int column = (s * 32 + lane) * kVector;
    if (column >= a.width) continue;
    load8(x[s], a.x + base + column);
    if (a.y != nullptr) {
      float y[kVector], gate[kVector];
      load8(y, a.y + base + column);
      load8(gate, a.gate + modulation + column);
      if (a.bias != nullptr) {
        float bias[kVector];
        load8(bias, a.bias + column);
#pragma unroll
        for (int e = 0; e < kVector; ++e) y[e] += bias[e];
      }
#pragma unroll
      for (int e = 0; e < kVector; ++e) x[s][e] = fmaf(gate[e], y[e], x[s][e]);
      store8(a.x + base + column, x[s]);
    }
#pragma unroll
    for (int e = 0; e < kVector; ++e) sum += x[s][e];
  }
  if (a.h == nullptr) return;

  const float mean = warp_sum(sum) / static_cast<float>(a.width);
  float squares = 0.0F;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if ((s * 32 + lane) * kVector >= a.width) continue;
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const float centred = x[s][e] - mean;
      squares = fmaf(centred, centred, squares);
    }
  }
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(a.width) + a.epsilon);
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int column = (s * 32 + lane) * kVector;
    if (column >= a.width) continue;
    float shift[kVector], scale[kVector];
    load8(shift, a.shift + modulation + column);
    load8(scale, a.scale + modulation + column);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      x[s][e] = fmaf((x[s][e] - mean) * inverse, 1.0F + scale[e], shift[e]);
    }
    store8(a.h + base + column, x[s]);
  }
}

}  // namespace ditar::cuda
