#include "ditar/kernels/ops/rearrange.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {

bool supports_rearrange(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void rearrange(ConstTensorView from, TensorView to, StreamView stream) {
  constexpr const char* kOp = "rearrange";
  check::supported(supports_rearrange(from.device(), from.dtype()), kOp, from.device(),
                   from.dtype());
  const int axes = from.shape().rank();
  if (axes < 1 || axes > cpu::kRearrangeAxes) {
    check::fail(kOp, "from", "has " + std::to_string(axes) + " axes, expected 1 to 4");
  }
  check::unit_last_stride(kOp, "from", from);
  check::alike(kOp, "to", to, from.dtype(), from.device());
  check::shape(kOp, "to", to, from.shape());
  check::unit_last_stride(kOp, "to", to);
  check::stream(kOp, stream, from.device());
  if (from.count() == 0) return;
  cpu::RearrangeArgs args;
  args.from = from.data();
  args.to = to.data();
  for (int axis = 0; axis < axes; ++axis) {
    const auto at = static_cast<std::size_t>(cpu::kRearrangeAxes - axes + axis);
    args.sizes[at] = from.size(axis);
    args.from_strides[at] = from.stride(axis);
    args.to_strides[at] = to.stride(axis);
  }
  if (check::is_cuda(from)) return cuda::rearrange(from.dtype(), args, from.device(), stream);
  cpu::rearrange(from.dtype(), args);
}

}  // namespace ditar
