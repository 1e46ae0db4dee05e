#include "ditar/kernels/ops/norm.h"

#include "check.h"
#include "cpu_ops.h"

namespace ditar {
namespace {

void check_tokens(const char* op, ConstTensorView x, StreamView stream) {
  check::supported(supports_norm(x.device(), x.dtype()), op, x.device(), x.dtype());
  check::rank(op, "x", x, 3);
  check::dense(op, "x", x);
  check::stream(op, stream, x.device());
}

/// shift, scale or gate: (B, D), unit column stride.
void check_row_table(const char* op, const char* operand, ConstTensorView table,
                     ConstTensorView x) {
  check::alike(op, operand, table, x.dtype(), x.device());
  check::shape(op, operand, table, Shape{x.size(0), x.size(2)});
  check::unit_last_stride(op, operand, table);
}

void check_norm(const char* op, ConstTensorView x, ConstTensorView shift, ConstTensorView scale,
                double eps, TensorView h) {
  check_row_table(op, "shift", shift, x);
  check_row_table(op, "scale", scale, x);
  check::dense_like(op, "h", h, x.shape(), x.dtype(), x.device());
  if (!(eps >= 0.0)) check::fail(op, "eps", "must be 0 or more");
}

}  // namespace

bool supports_norm(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype);
}

void layer_norm_modulate(ConstTensorView x, ConstTensorView shift, ConstTensorView scale,
                         double eps, TensorView h, StreamView stream) {
  constexpr const char* kOp = "layer_norm_modulate";
  check_tokens(kOp, x, stream);
  check_norm(kOp, x, shift, scale, eps, h);
  cpu::norm({.y = {},
             .gate = {},
             .shift = shift,
             .scale = scale,
             .eps = eps,
             .x = x,
             .x_out = {},
             .h = h});
}

void gate_residual(ConstTensorView y, ConstTensorView gate, TensorView x, StreamView stream) {
  constexpr const char* kOp = "gate_residual";
  check_tokens(kOp, x, stream);
  check::dense_like(kOp, "y", y, x.shape(), x.dtype(), x.device());
  check_row_table(kOp, "gate", gate, x);
  cpu::norm(
      {.y = y, .gate = gate, .shift = {}, .scale = {}, .eps = 0.0, .x = x, .x_out = x, .h = {}});
}

void gate_residual_layer_norm_modulate(ConstTensorView y, ConstTensorView gate,
                                       ConstTensorView shift, ConstTensorView scale, double eps,
                                       TensorView x, TensorView h, StreamView stream) {
  constexpr const char* kOp = "gate_residual_layer_norm_modulate";
  check_tokens(kOp, x, stream);
  check::dense_like(kOp, "y", y, x.shape(), x.dtype(), x.device());
  check_row_table(kOp, "gate", gate, x);
  check_norm(kOp, x, shift, scale, eps, h);
  cpu::norm({.y = y,
             .gate = gate,
             .shift = shift,
             .scale = scale,
             .eps = eps,
             .x = x,
             .x_out = x,
             .h = h});
}

}  // namespace ditar
