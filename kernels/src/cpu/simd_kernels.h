// Table of the inner loops (FP32, and the product of FP64), one instance per instruction set. The
// loops are single-threaded and allocate nothing; the table is constant. Internal to kernels;
// thread-safe.
#pragma once

#include <cstdint>

namespace ditar::cpu {

/// Output features packed together: W (N, K) becomes ceil(N/16) panels of (K, 16), zero-padded.
inline constexpr std::int64_t kPanel = 16;
/// The same for FP64: panels of (K, 8).
inline constexpr std::int64_t kPanelF64 = 8;
/// No instruction set computes more rows at once than this.
inline constexpr std::int64_t kMaxTileRows = 6;

inline constexpr std::int64_t panels_of(std::int64_t n) { return (n + kPanel - 1) / kPanel; }
inline constexpr std::int64_t panels_of_f64(std::int64_t n) {
  return (n + kPanelF64 - 1) / kPanelF64;
}

/// Operands of rows x panels of a linear layer; see LinearEpilogue for the order of operations.
struct GemmArgs {
  const float* x = nullptr;  ///< (M, K)
  std::int64_t x_stride = 0;
  const float* packed = nullptr;  ///< panels_of(N) x (K, 16)
  std::int64_t k = 0;
  std::int64_t n = 0;
  const float* bias = nullptr;  ///< 16 panels_of(N), padded
  int activation = 0;           ///< value of Activation
  const float* gate = nullptr;  ///< (B, N) or null
  std::int64_t gate_stride = 0;
  std::int64_t rows_per_image = 1;
  const float* residual = nullptr;  ///< (M, N) or null
  std::int64_t residual_stride = 0;
  float* y = nullptr;  ///< (M, N)
  std::int64_t y_stride = 0;
};

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
  void (*gemm)(const GemmArgs& args, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t panel_begin, std::int64_t panel_end);
  void (*activate)(const float* x, int activation, float* y, std::int64_t count);
  /// x += gate * y over one row
  void (*gate_row)(const float* y, const float* gate, float* x, std::int64_t d);
  /// h = LN(x) * (1 + scale) + shift over one row
  void (*norm_row)(const float* x, const float* shift, const float* scale, float eps, float* h,
                   std::int64_t d);
  void (*attention)(const AttentionHead& head);
  /// out[r * 8 + j] = sum over k of x[r * x_stride + k] * panel[k * 8 + j] for rows <=
  /// kMaxTileRows; each sum is one chain of multiply-adds in k order
  void (*tile_f64)(const double* x, std::int64_t x_stride, std::int64_t rows, const double* panel,
                   std::int64_t k, double* out);
};

extern const SimdKernels kSimdGeneric;
#if defined(__x86_64__)
extern const SimdKernels kSimdAvx2;
#endif
/// The best table that the running CPU can execute. The environment variable DITAR_CPU_ISA=generic
/// forces the portable one.
const SimdKernels& simd();

}  // namespace ditar::cpu
