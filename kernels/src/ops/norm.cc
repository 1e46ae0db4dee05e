#include "ditar/kernels/ops/norm.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {
namespace {

void check_tokens(const char* op, ConstTensorView x, StreamView stream) {
  check::supported(supports_norm(x.device(), x.dtype()), op, x.device(), x.dtype());
  check::rank(op, "x", x, 3);
  check::dense(op, "x", x);
  check::stream(op, stream, x.device());
}

/// dtype of y, h and the tables: that of x, or 16-bit beside an f32 residual stream on CUDA.
DType model_dtype(ConstTensorView x, ConstTensorView operand) {
  const bool narrow = operand.dtype() == DType::kF16 || operand.dtype() == DType::kBF16;
  return check::is_cuda(x) && x.dtype() == DType::kF32 && narrow ? operand.dtype() : x.dtype();
}

void run(const cpu::NormArgs& args, StreamView stream) {
  if (check::is_cuda(args.x)) return cuda::norm(args, stream);
  cpu::norm(args);
}

/// shift, scale or gate: (B, D), unit column stride.
void check_row_table(const char* op, const char* operand, ConstTensorView table, ConstTensorView x,
                     DType dtype) {
  check::alike(op, operand, table, dtype, x.device());
  check::shape(op, operand, table, Shape{x.size(0), x.size(2)});
  check::unit_last_stride(op, operand, table);
}

void check_norm(const char* op, ConstTensorView x, ConstTensorView shift, ConstTensorView scale,
                double eps, TensorView h, DType dtype) {
  check_row_table(op, "shift", shift, x, dtype);
  check_row_table(op, "scale", scale, x, dtype);
  check::dense_like(op, "h", h, x.shape(), dtype, x.device());
  if (!(eps >= 0.0)) check::fail(op, "eps", "must be 0 or more");
}

}  // namespace

bool supports_norm(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void layer_norm_modulate(ConstTensorView x, ConstTensorView shift, ConstTensorView scale,
                         double eps, TensorView h, StreamView stream) {
  constexpr const char* kOp = "layer_norm_modulate";
  const DType dtype = model_dtype(x, h);
  check_tokens(kOp, x, stream);
  check_norm(kOp, x, shift, scale, eps, h, dtype);
  run({.y = {},
       .gate = {},
       .shift = shift,
       .scale = scale,
       .eps = eps,
       .x = x,
       .x_out = {},
       .h = h},
      stream);
}

void gate_residual(ConstTensorView y, ConstTensorView gate, TensorView x, StreamView stream) {
  constexpr const char* kOp = "gate_residual";
  const DType dtype = model_dtype(x, y);
  check_tokens(kOp, x, stream);
  check::dense_like(kOp, "y", y, x.shape(), dtype, x.device());
  check_row_table(kOp, "gate", gate, x, dtype);
  run({.y = y, .gate = gate, .shift = {}, .scale = {}, .eps = 0.0, .x = x, .x_out = x, .h = {}},
      stream);
}

void gate_residual_layer_norm_modulate(ConstTensorView y, ConstTensorView gate,
                                       ConstTensorView shift, ConstTensorView scale, double eps,
                                       TensorView x, TensorView h, StreamView stream) {
  constexpr const char* kOp = "gate_residual_layer_norm_modulate";
  const DType dtype = model_dtype(x, y);
  check_tokens(kOp, x, stream);
  check::dense_like(kOp, "y", y, x.shape(), dtype, x.device());
  check_row_table(kOp, "gate", gate, x, dtype);
  check_norm(kOp, x, shift, scale, eps, h, dtype);
  run({.y = y,
       .gate = gate,
       .shift = shift,
       .scale = scale,
       .eps = eps,
       .x = x,
       .x_out = x,
       .h = h},
      stream);
}

}  // namespace ditar
