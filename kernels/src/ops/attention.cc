#include "ditar/kernels/ops/attention.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

#include <cmath>
#include <cstdint>

namespace ditar {
namespace {

void check_operand(const char* op, const char* operand, ConstTensorView view, const Shape& expected,
                   DType dtype, Device device) {
  check::alike(op, operand, view, dtype, device);
  check::shape(op, operand, view, expected);
  check::unit_last_stride(op, operand, view);
}

/// Sums of 16-bit attention are kept in f32.
DType sum_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

/// (B, S, H, D) of part `index` of packed (B, T, 3, H, D).
ConstTensorView part_of(ConstTensorView qkv, std::int64_t index) {
  const std::int64_t heads = qkv.size(3);
  const std::int64_t size = qkv.size(4);
  const std::int64_t row = 3 * heads * size;
  const auto offset = static_cast<std::size_t>(index * heads * size) * size_of(qkv.dtype());
  return ConstTensorView(static_cast<const char*>(qkv.data()) + offset,
                         Shape{qkv.size(0), qkv.size(1), heads, size},
                         Strides{qkv.size(1) * row, row, size, 1}, qkv.dtype(), qkv.device());
}

}  // namespace

bool supports_attention(Device device, DType dtype, std::int64_t head_size) noexcept {
  if (head_size < 1) return false;
  if (cuda::serves(device, dtype)) return head_size <= cuda::kMaxHeadSize;
  return check::is_cpu_float(device, dtype);
}

std::size_t attention_workspace_bytes(Device device, DType dtype, std::int64_t q_length,
                                      std::int64_t kv_length, std::int64_t head_size) noexcept {
  if (device.type == DeviceType::kCuda || !supports_attention(device, dtype, head_size)) return 0;
  return cpu::attention_workspace_bytes(dtype, q_length, kv_length, head_size);
}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, TensorView workspace, StreamView stream) {
  constexpr const char* kOp = "attention";
  check::rank(kOp, "q", q, 4);
  check::supported(supports_attention(q.device(), q.dtype(), q.size(3)), kOp, q.device(),
                   q.dtype());
  check::unit_last_stride(kOp, "q", q);
  check::rank(kOp, "k", k, 4);
  const Shape kv{q.size(0), k.size(1), q.size(2), q.size(3)};
  if (k.size(1) == 0) check::fail(kOp, "k", "has no rows on axis 1");
  check_operand(kOp, "k", k, kv, q.dtype(), q.device());
  check_operand(kOp, "v", v, kv, q.dtype(), q.device());
  check_operand(kOp, "out", out, q.shape(), q.dtype(), q.device());
  check::stream(kOp, stream, q.device());
  if (!(scale > 0.0) || !std::isfinite(scale)) {
    check::fail(kOp, "scale", "must be finite and above 0");
  }
  if (!log_sum_exp.empty()) {
    check::dense_like(kOp, "log_sum_exp", log_sum_exp, Shape{q.size(0), q.size(2), q.size(1)},
                      sum_dtype(q.dtype()), q.device());
  }
  const std::size_t needed =
      attention_workspace_bytes(q.device(), q.dtype(), q.size(1), k.size(1), q.size(3));
  if (needed > 0 && (workspace.empty() || workspace.size_bytes() < needed)) {
    check::fail(kOp, "workspace", "is smaller than " + std::to_string(needed) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data()) % 64 != 0) {
    check::fail(kOp, "workspace", "must be aligned to 64 bytes");
  }
  if (q.count() == 0) return;
  if (check::is_cuda(q)) return cuda::attention(q, k, v, scale, out, log_sum_exp, stream);
  cpu::attention(q, k, v, scale, out, log_sum_exp, workspace);
}

void attention_packed(ConstTensorView qkv, TensorView out, TensorView workspace,
                      StreamView stream) {
  constexpr const char* kOp = "attention_packed";
  check::rank(kOp, "qkv", qkv, 5);
  check::shape(kOp, "qkv", qkv, Shape{qkv.size(0), qkv.size(1), 3, qkv.size(3), qkv.size(4)});
  check::dense(kOp, "qkv", qkv);
  check::dense_like(kOp, "out", out, Shape{qkv.size(0), qkv.size(1), qkv.size(3) * qkv.size(4)},
                    qkv.dtype(), qkv.device());
  const TensorView heads = out.reshape({qkv.size(0), qkv.size(1), qkv.size(3), qkv.size(4)});
  const double scale = 1.0 / std::sqrt(static_cast<double>(qkv.size(4)));
  attention(part_of(qkv, 0), part_of(qkv, 1), part_of(qkv, 2), scale, heads, {}, workspace, stream);
}

void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out, TensorView lse,
                     StreamView stream) {
  constexpr const char* kOp = "attention_merge";
  check::rank(kOp, "part", part, 4);
  check::supported(supports_attention(part.device(), part.dtype(), part.size(3)), kOp,
                   part.device(), part.dtype());
  check::unit_last_stride(kOp, "part", part);
  check_operand(kOp, "out", out, part.shape(), part.dtype(), part.device());
  const Shape rows{part.size(0), part.size(2), part.size(1)};
  check::dense_like(kOp, "part_lse", part_lse, rows, sum_dtype(part.dtype()), part.device());
  check::dense_like(kOp, "lse", lse, rows, sum_dtype(part.dtype()), part.device());
  check::stream(kOp, stream, part.device());
  if (check::is_cuda(part)) return cuda::attention_merge(part, part_lse, out, lse, stream);
  cpu::attention_merge(part, part_lse, out, lse);
}

}  // namespace ditar
