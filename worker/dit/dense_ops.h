// The CPU arithmetic of the model in FP32 and FP64: few operations on dense row-major memory, with
// the fusions that a DiT block wants. Every row's result depends on that row alone, never on the
// number of rows or threads, so a split request gives the bits of an undivided one. Nothing here
// allocates; threads <= 1 never enters a parallel region. Thread-safe as long as outputs differ.
// Axis letters: N images, S tokens, D hidden, H heads, E head size, M rows, K in, C channels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ditar {

enum class Epilogue : std::uint8_t { kNone, kGeluTanh, kSilu };

/// Columns of one panel of packed weights: two vectors of 32 bytes.
template <typename T>
inline constexpr std::int64_t kPanel = static_cast<std::int64_t>(64 / sizeof(T));
template <typename T>
constexpr std::int64_t panel_count(std::int64_t columns) {
  return (columns + kPanel<T> - 1) / kPanel<T>;
}

/// A linear layer's weights packed as (panel_count(out), in, kPanel) with zeros behind the last
/// row; bias is padded likewise and may be null.
template <typename T>
struct PackedWeights {
  const T* panels = nullptr;
  const T* bias = nullptr;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

/// Per-image modulation: element i points at D values of image i.
template <typename T>
using PerImage = const T* const*;

template <typename T>
struct NormArgs {
  std::int64_t images, tokens, hidden;
  T eps;
  PerImage<T> shift;
  PerImage<T> scale;
};

template <typename T>
struct AttentionArgs {
  std::int64_t images, tokens, heads, head_dim;
};

/// One instruction set's implementation for one element type.
template <typename T>
struct DenseOps {
  const char* name;
  /// weight (out, in) row-major -> panels (panel_count(out) * in * kPanel elements).
  void (*pack)(const T* weight, std::int64_t out, std::int64_t in, T* panels);
  /// y (M, out) = epilogue(x (M, in) . W^T + bias).
  void (*linear)(const T* x, std::int64_t rows, const PackedWeights<T>& weights, Epilogue epilogue,
                 T* y, int threads);
  /// y = LayerNorm(x) * (1 + scale) + shift over (N, S, D); no affine part.
  void (*norm_modulate)(const T* x, const NormArgs<T>& args, T* y, int threads);
  /// x += gate * delta over (N, S, D).
  void (*gate_residual)(T* x, const T* delta, PerImage<T> gate, std::int64_t images,
                        std::int64_t tokens, std::int64_t hidden, int threads);
  /// The two above in one pass: x += gate * delta; y = LayerNorm(x) * (1 + scale) + shift.
  void (*gate_norm_modulate)(T* x, const T* delta, PerImage<T> gate, const NormArgs<T>& args, T* y,
                             int threads);
  /// qkv (N, S, 3, H, E) -> out (N, S, H * E), softmax(q . k / sqrt(E)) . v.
  /// scratch: threads * attention_scratch<T>(tokens, head_dim) elements.
  void (*attention)(const T* qkv, const AttentionArgs<T>& args, T* out, T* scratch, int threads);
};

/// Query rows that attention scores at a time.
inline constexpr std::int64_t kQueryRows = 48;
/// Elements of scratch that attention needs for each thread.
template <typename T>
constexpr std::int64_t attention_scratch(std::int64_t tokens, std::int64_t head_dim) {
  const std::int64_t keys = panel_count<T>(tokens) * kPanel<T>;
  const std::int64_t values = panel_count<T>(head_dim) * kPanel<T>;
  return keys * head_dim + values * tokens + kQueryRows * keys;
}

/// The best implementation for this processor.
template <typename T>
const DenseOps<T>& dense_ops();
/// The one that runs on every processor of the architecture; for comparisons.
template <typename T>
const DenseOps<T>& portable_dense_ops();

}  // namespace ditar
