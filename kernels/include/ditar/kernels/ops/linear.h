// Linear: y = epilogue(x W^T + bias) with the weight packed once, at load time. Owns the packed
// weight and bias; move-only. run() is const, allocates nothing and may be called from several
// threads. Each row of y depends on the same row of x alone: on the CPU bits do not change with M
// or threads; on CUDA equal calls give equal bits, but another M may run another algorithm.
#pragma once

#include "ditar/kernels/ops/activation.h"

#include <memory>

namespace ditar {

/// What happens to r = x W^T + bias (M, N) before it is written, in this order:
///   r = activation(r);  r = gate[row / rows_per_image] * r (if gate);  r = residual + r (if
///   residual).
struct LinearEpilogue {
  Activation activation = Activation::kNone;
  ConstTensorView gate;             ///< (B, N), unit column stride, any row stride; or empty
  std::int64_t rows_per_image = 0;  ///< T; needed with gate: M <= B * T
  ConstTensorView residual;         ///< (M, N), dense; may be y itself; or empty
};

class Linear {
 public:
  /// @param weight (N, K), dense: f32 or f64 on the CPU, f32, f16 or bf16 on CUDA; x and y have its
  ///        dtype, sums of 16-bit products are f32
  /// @param bias   (N), same dtype and device, or an empty view
  /// @param allow_tf32 products may be rounded to TF32 first; only f32 weights on CUDA take it
  /// Copies both, on CUDA in the order of `stream`; once that is done the views need not live on.
  /// @throws InvalidArgument naming the axis at fault.
  Linear(ConstTensorView weight, ConstTensorView bias, StreamView stream, bool allow_tf32 = false);
  /// The same layer with its products in INT8 (W8A8): the weight rounded to 255 symmetric levels of
  /// one scale per output row, x as it comes to those of one scale per row; sums are exact, and
  /// what follows is in the weight's dtype. A row that holds what is not finite gives NaN.
  /// @throws InvalidArgument naming the axis at fault, K > 131072 too; Unavailable on CUDA.
  static Linear int8(ConstTensorView weight, ConstTensorView bias, StreamView stream);
  ~Linear();
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  static bool supports(Device device, DType dtype) noexcept;
  std::int64_t in_features() const noexcept;
  std::int64_t out_features() const noexcept;
  DType dtype() const noexcept;
  Device device() const noexcept;
  /// Bytes held by the packed copy.
  std::size_t packed_bytes() const noexcept;
  /// Scratch that run() needs for M rows; 0 on the CPU. One workspace per stream.
  std::size_t workspace_bytes(std::int64_t rows) const noexcept;

  /// @param x (M, K), unit column stride, any row stride   @param y (M, N), likewise; no overlap
  ///        with x
  /// @param workspace u8 (>= workspace_bytes(M)); may be empty where that is 0
  /// Enqueues on `stream`. @throws InvalidArgument naming the operand and axis at fault.
  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView workspace,
           StreamView stream) const;
  void run(ConstTensorView x, TensorView y, StreamView stream) const { run(x, y, {}, {}, stream); }
  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue,
           StreamView stream) const {
    run(x, y, epilogue, {}, stream);
  }

  struct Packed;  ///< one backend's packed weight; defined inside kernels

 private:
  explicit Linear(std::unique_ptr<Packed> packed) noexcept;
  std::unique_ptr<Packed> packed_;
};

}  // namespace ditar
