// Table of the inner loops (FP32, and the product of FP64), one instance per instruction set. The
// loops are single-threaded and allocate nothing; the table is constant. Internal to kernels;
// thread-safe.
#pragma once

#include <cstdint>

namespace ditar::cpu {

/// Columns packed together: k (S', D) becomes ceil(S'/16) panels of (D, 16), zero-padded.
inline constexpr std::int64_t kPanel = 16;
/// The same for FP64, where the weight of a linear layer (N, K) becomes panels of (K, 8) too.
inline constexpr std::int64_t kPanelF64 = 8;
/// No instruction set computes more rows at once than this.
inline constexpr std::int64_t kMaxTileRows = 6;

inline constexpr std::int64_t panels_of(std::int64_t n) { return (n + kPanel - 1) / kPanel; }
inline constexpr std::int64_t panels_of_f64(std::int64_t n) {
  return (n + kPanelF64 - 1) / kPanelF64;
}

/// One image and head of attention; q rows [row_begin, row_end).
struct AttentionHead {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;
  float* log_sum_exp = nullptr;  ///< or null
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0;
  std::int64_t row_begin = 0, row_end = 0;
  std::int64_t kv_length = 0, head_size = 0;
  float scale = 1.0F;
  float* scratch = nullptr;  ///< attention_scratch_floats(), 64-byte aligned
};

inline constexpr std::int64_t attention_scratch_floats(std::int64_t kv_length,
                                                       std::int64_t head_size) {
  return panels_of(kv_length) * kPanel * head_size +    // packed k
         panels_of(head_size) * kPanel * kv_length +    // packed v
         kMaxTileRows * panels_of(kv_length) * kPanel;  // scores
}

struct SimdKernels {
  const char* name;
  void (*activate)(const float* x, int activation, float* y, std::int64_t count);
  /// out = add + gate * y over one row; a null gate is all ones, a null add all zeros. out may be
  /// y or add.
  void (*gate_row)(const float* y, const float* gate, const float* add, float* out, std::int64_t d);
  /// h = LN(x) * (1 + scale) + shift over one row
  void (*norm_row)(const float* x, const float* shift, const float* scale, float eps, float* h,
                   std::int64_t d);
  void (*attention)(const AttentionHead& head);
  /// out[r * 8 + j] = sum over k of x[r * x_stride + k] * panel[k * 8 + j] for rows <=
  /// kMaxTileRows; each sum is one chain of multiply-adds in k order
  void (*tile_f64)(const double* x, std::int64_t x_stride, std::int64_t rows, const double* panel,
                   std::int64_t k, double* out);
  /// Sum of a[i] * b[i]; count <= 131072, so that it fits.
  std::int32_t (*dot_i8)(const std::int8_t* a, const std::int8_t* b, std::int64_t count);
};

extern const SimdKernels kSimdGeneric;
#if defined(__x86_64__)
extern const SimdKernels kSimdAvx2;
#endif
/// The best table that the running CPU can execute. The environment variable DITAR_CPU_ISA=generic
/// forces the portable one.
const SimdKernels& simd();

}  // namespace ditar::cpu
