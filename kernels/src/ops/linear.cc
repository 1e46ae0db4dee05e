#include "ditar/kernels/ops/linear.h"

#include "check.h"
#include "cuda_ops.h"
#include "linear_backend.h"

namespace ditar {
namespace {

constexpr const char* kOp = "linear";
constexpr std::int64_t kMostInt8Terms = 131072;  // 127 * 127 of each stay below 2^31

void check_epilogue(const LinearEpilogue& epilogue, const TensorView& y) {
  if (!epilogue.gate.empty()) {
    const ConstTensorView& gate = epilogue.gate;
    check::alike(kOp, "gate", gate, y.dtype(), y.device());
    check::rank(kOp, "gate", gate, 2);
    check::shape(kOp, "gate", gate, Shape{gate.size(0), y.size(1)});
    check::unit_last_stride(kOp, "gate", gate);
    if (epilogue.rows_per_image < 1 || y.size(0) > gate.size(0) * epilogue.rows_per_image) {
      check::fail(kOp, "gate",
                  "has " + std::to_string(gate.size(0)) + " images of " +
                      std::to_string(epilogue.rows_per_image) + " rows on axis 0, fewer than the " +
                      std::to_string(y.size(0)) + " rows of y");
    }
  }
  if (!epilogue.residual.empty()) {
    check::dense_like(kOp, "residual", epilogue.residual, y.shape(), y.dtype(), y.device());
  }
}

void check_weight(const ConstTensorView& weight, const ConstTensorView& bias, StreamView stream) {
  check::supported(Linear::supports(weight.device(), weight.dtype()), kOp, weight.device(),
                   weight.dtype());
  check::rank(kOp, "weight", weight, 2);
  check::dense(kOp, "weight", weight);
  check::stream(kOp, stream, weight.device());
  if (weight.count() == 0) check::fail(kOp, "weight", "has a size of 0 on axis 0 or 1");
  if (!bias.empty()) {
    check::dense_like(kOp, "bias", bias, Shape{weight.size(0)}, weight.dtype(), weight.device());
  }
}

}  // namespace

Linear::Linear(ConstTensorView weight, ConstTensorView bias, StreamView stream, bool allow_tf32) {
  check_weight(weight, bias, stream);
  if (allow_tf32 && (weight.device().type != DeviceType::kCuda || weight.dtype() != DType::kF32)) {
    check::fail(kOp, "allow_tf32", "needs an f32 weight on a CUDA device");
  }
  packed_ = check::is_cuda(weight) ? Packed::make_cuda(weight, bias, allow_tf32, stream)
                                   : Packed::make_cpu(weight, bias);
}

Linear::Linear(std::unique_ptr<Packed> packed) noexcept : packed_(std::move(packed)) {}

Linear Linear::int8(ConstTensorView weight, ConstTensorView bias, StreamView stream) {
  check_weight(weight, bias, stream);
  if (weight.size(1) > kMostInt8Terms) {
    check::fail(kOp, "weight", "has more than 131072 columns, whose sums leave 32 bits");
  }
  if (check::is_cuda(weight)) {
    throw Unavailable("INT8 products are not written for CUDA; turn int8_products off there");
  }
  return Linear(Packed::make_int8_cpu(weight, bias));
}

Linear::~Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;

bool Linear::supports(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}
std::int64_t Linear::in_features() const noexcept { return packed_->in; }
std::int64_t Linear::out_features() const noexcept { return packed_->out; }
DType Linear::dtype() const noexcept { return packed_->dtype; }
Device Linear::device() const noexcept { return packed_->device; }
std::size_t Linear::packed_bytes() const noexcept { return packed_->packed_bytes(); }
std::size_t Linear::workspace_bytes(std::int64_t rows) const noexcept {
  return packed_->workspace_bytes(rows);
}

void Linear::run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue,
                 TensorView workspace, StreamView stream) const {
  const Packed& packed = *packed_;
  check::alike(kOp, "x", x, packed.dtype, packed.device);
  check::rank(kOp, "x", x, 2);
  check::shape(kOp, "x", x, Shape{x.size(0), packed.in});
  check::unit_last_stride(kOp, "x", x);
  check::alike(kOp, "y", y, packed.dtype, packed.device);
  check::shape(kOp, "y", y, Shape{x.size(0), packed.out});
  check::unit_last_stride(kOp, "y", y);
  check::stream(kOp, stream, packed.device);
  check_epilogue(epilogue, y);
  const std::size_t needed = packed.workspace_bytes(x.size(0));
  if (needed > 0 && (workspace.empty() || workspace.size_bytes() < needed)) {
    check::fail(kOp, "workspace", "is smaller than " + std::to_string(needed) + " bytes");
  }
  if (x.size(0) == 0) return;
  packed.run(x, y, epilogue, workspace, stream);
}

}  // namespace ditar
