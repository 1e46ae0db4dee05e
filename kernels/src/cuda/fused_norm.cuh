// Gate + residual + LayerNorm + modulate in one pass over the row, one warp a row.
//
//   x' = x + gate * y                                             (skipped without y)
//   h  = (x' - mean) / sqrt(var + eps) * (1 + scale) + shift      (skipped without h)
//
// x is the residual stream in type R (float, or the model's type T); y, h, gate, shift and scale
// are T. x' is rounded to R before its statistics are taken, so the fused op gives the bits of the
// two alone. Statistics are FP32, two passes over registers. A row is held in registers: kSteps
// vectors of 8 per lane cover D <= 256 * kSteps, D a multiple of 8. Rows of one image share gate,
// shift, scale. Launch: 4 rows a block. Bound: memory (reads x, y; writes x, h once each).
#pragma once

#include "element.cuh"
#include "vector.cuh"

namespace ditar::cuda {

template <typename T, typename R>
struct FusedNormArguments {
  const R* x;      ///< (rows, D)
  R* x_out;        ///< (rows, D), may be x; written with y only
  const T* y;      ///< (rows, D) or null
  const T* gate;   ///< (images, D); needed with y
  const T* shift;  ///< (images, D)
  const T* scale;  ///< (images, D)
  T* h;            ///< (rows, D) or null
  std::int64_t gate_stride, shift_stride, scale_stride;  ///< elements from image to image
  int rows, rows_per_image, width;
  float epsilon;
};

/// What a store of `value` as R and a load give back.
template <typename R>
__device__ inline float rounded(float value) {
  R stored;
  store1(&stored, value);
  return load1(&stored);
}

inline constexpr int kNormRowsPerBlock = 4;

template <typename T, typename R, int kSteps>
__global__ void __launch_bounds__(32 * kNormRowsPerBlock)
    fused_norm_kernel(const FusedNormArguments<T, R> a) {
  const int row = blockIdx.x * kNormRowsPerBlock + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= a.rows) return;
  const std::int64_t base = std::int64_t(row) * a.width;
  const std::int64_t image = row / a.rows_per_image;

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
      load8(gate, a.gate + image * a.gate_stride + column);
#pragma unroll
      for (int e = 0; e < kVector; ++e) x[s][e] = rounded<R>(fmaf(gate[e], y[e], x[s][e]));
      store8(a.x_out + base + column, x[s]);
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
    load8(shift, a.shift + image * a.shift_stride + column);
    load8(scale, a.scale + image * a.scale_stride + column);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      x[s][e] = fmaf((x[s][e] - mean) * inverse, 1.0F + scale[e], shift[e]);
    }
    store8(a.h + base + column, x[s]);
  }
}

/// Any width and alignment: one warp a row, three passes over global memory, the same arithmetic.
template <typename T, typename R>
__global__ void __launch_bounds__(32 * kNormRowsPerBlock)
    scalar_norm_kernel(const FusedNormArguments<T, R> a) {
  const int row = blockIdx.x * kNormRowsPerBlock + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= a.rows) return;
  const std::int64_t base = std::int64_t(row) * a.width;
  const std::int64_t image = row / a.rows_per_image;
  const R* x = a.x + base;
  float sum = 0.0F;
  for (int i = lane; i < a.width; i += 32) {
    float value = load1(x + i);
    if (a.y != nullptr) {
      value =
          rounded<R>(fmaf(load1(a.gate + image * a.gate_stride + i), load1(a.y + base + i), value));
      store1(a.x_out + base + i, value);
    }
    sum += value;
  }
  if (a.h == nullptr) return;
  if (a.y != nullptr) x = a.x_out + base;  // each lane reads back only what it wrote
  const float mean = warp_sum(sum) / static_cast<float>(a.width);
  float squares = 0.0F;
  for (int i = lane; i < a.width; i += 32) {
    const float centred = load1(x + i) - mean;
    squares = fmaf(centred, centred, squares);
  }
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(a.width) + a.epsilon);
  for (int i = lane; i < a.width; i += 32) {
    store1(a.h + base + i,
           fmaf((load1(x + i) - mean) * inverse, 1.0F + load1(a.scale + image * a.scale_stride + i),
                load1(a.shift + image * a.shift_stride + i)));
  }
}

}  // namespace ditar::cuda
