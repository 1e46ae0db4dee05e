// Linear on CUDA: cuBLASLt with the bias (16-bit: and GELU) in its epilogue; what is left of the
// epilogue (SiLU, exact GELU, gate, residual) follows in one kernel. One GemmLt per device is
// shared by all layers and threads; the caller's workspace keeps streams apart.
#include "cuda_check.h"
#include "ditar/kernels/ops/linear_table.h"
#include "gemm_registry.h"
#include "launch.h"
#include "ops/linear_backend.h"

namespace ditar {
namespace {

class LinearCuda final : public Linear::Packed {
 public:
  LinearCuda(ConstTensorView weight, ConstTensorView bias, bool allow_tf32, StreamView stream)
      : Packed(weight),
        tf32_(allow_tf32 && weight.dtype() == DType::kF32),
        weight_(weight.shape(), weight.dtype(), weight.device()),
        bias_(Shape{weight.size(0)}, weight.dtype(), weight.device()) {
    copy(weight, weight_, stream);
    if (bias.empty()) {
      fill_bytes(bias_.view().data(), device, 0, bias_.view().size_bytes(), stream);
    } else {
      copy(bias, bias_, stream);
    }
  }

  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView workspace,
           StreamView stream) const override {
    const DeviceGuard guard(device);
    const auto native = static_cast<cudaStream_t>(stream.native());
    const bool gelu_inside =
        epilogue.activation == Activation::kGeluTanh && (dtype != DType::kF32 || tf32_);
    const cuda::GemmShape shape{
        .m = x.size(0),
        .n = out,
        .k = in,
        .x_stride = x.stride(0),
        .y_stride = y.stride(0),
        .dtype = dtype,
        .tf32 = tf32_,
        .epilogue = gelu_inside ? cuda::GemmEpilogue::kGeluBias : cuda::GemmEpilogue::kBias};
    cuda::gemm_of(device.index)
        .run(shape, x.data(), weight_.view().data(), bias_.view().data(), y.data(),
             workspace.data(), native);
    const Activation left = gelu_inside ? Activation::kNone : epilogue.activation;
    if (left == Activation::kNone && epilogue.gate.empty() && epilogue.residual.empty()) return;
    cuda::launch_row_epilogue(
        dtype,
        {.y = y.data(),
         .y_stride = y.stride(0),
         .gate = epilogue.gate.data(),
         .gate_stride = epilogue.gate.empty() ? 0 : epilogue.gate.stride(0),
         .rows_per_image = epilogue.gate.empty() ? 1 : epilogue.rows_per_image,
         .residual = epilogue.residual.data(),
         .rows = x.size(0),
         .columns = out,
         .activation = static_cast<int>(left)},
        native);
  }

  std::size_t packed_bytes() const noexcept override {
    return weight_.view().size_bytes() + bias_.view().size_bytes();
  }
  std::size_t workspace_bytes(std::int64_t) const noexcept override {
    return cuda::GemmLt::kWorkspaceBytes;
  }

 private:
  bool tf32_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace

std::unique_ptr<Linear::Packed> Linear::Packed::make_cuda(ConstTensorView weight,
                                                          ConstTensorView bias, bool allow_tf32,
                                                          StreamView stream) {
  return std::make_unique<LinearCuda>(weight, bias, allow_tf32, stream);
}

std::string tune_linears(Device device, int candidates, StreamView stream) {
  cuda::GemmLt& gemm = cuda::gemm_of(device.index);
  for (const cuda::GemmShape& shape : gemm.shapes()) {
    gemm.tune(shape, candidates, static_cast<cudaStream_t>(stream.native()));
  }
  return gemm.save_table();
}

bool load_linear_table(Device device, const std::string& text) {
  return cuda::gemm_of(device.index).load_table(text);
}

}  // namespace ditar
