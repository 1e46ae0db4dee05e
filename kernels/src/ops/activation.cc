#include "ditar/kernels/ops/activation.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {

bool supports_pointwise(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void activate(ConstTensorView x, Activation activation, TensorView y, StreamView stream) {
  constexpr const char* kOp = "activate";
  check::supported(supports_pointwise(x.device(), x.dtype()), kOp, x.device(), x.dtype());
  check::dense(kOp, "x", x);
  check::dense_like(kOp, "y", y, x.shape(), x.dtype(), x.device());
  check::stream(kOp, stream, x.device());
  if (check::is_cuda(x)) return cuda::activate(x, activation, y, stream);
  cpu::activate(x, activation, y);
}

void add(ConstTensorView a, ConstTensorView b, TensorView y, StreamView stream) {
  constexpr const char* kOp = "add";
  check::supported(supports_pointwise(a.device(), a.dtype()), kOp, a.device(), a.dtype());
  check::dense(kOp, "a", a);
  check::dense_like(kOp, "b", b, a.shape(), a.dtype(), a.device());
  check::dense_like(kOp, "y", y, a.shape(), a.dtype(), a.device());
  check::stream(kOp, stream, a.device());
  if (check::is_cuda(a)) return cuda::add(a, b, y, stream);
  cpu::add(a, b, y);
}

}  // namespace ditar
