// One packed weight on one backend. linear.cc checks every operand before run() is called, so a
// backend trusts its views. run() is const and thread-safe. Internal to kernels.
#pragma once

#include "ditar/kernels/ops/linear.h"

namespace ditar {

struct Linear::Packed {
  Packed(ConstTensorView weight)
      : in(weight.size(1)), out(weight.size(0)), dtype(weight.dtype()), device(weight.device()) {}
  virtual ~Packed() = default;
  virtual void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue,
                   TensorView workspace, StreamView stream) const = 0;
  virtual std::size_t packed_bytes() const noexcept = 0;
  virtual std::size_t workspace_bytes(std::int64_t) const noexcept { return 0; }

  /// The CPU's kinds; defined in cpu/linear_cpu.cc.
  static std::unique_ptr<Packed> make_cpu(ConstTensorView weight, ConstTensorView bias);
  /// INT8 products; defined in cpu/linear_int8_cpu.cc.
  static std::unique_ptr<Packed> make_int8_cpu(ConstTensorView weight, ConstTensorView bias);
  /// The CUDA kind; copies are enqueued on `stream`. Defined in cuda/linear_cuda.cc.
  static std::unique_ptr<Packed> make_cuda(ConstTensorView weight, ConstTensorView bias,
                                           bool allow_tf32, StreamView stream);

  std::int64_t in;
  std::int64_t out;
  DType dtype;
  Device device;
};

}  // namespace ditar
