// What a build without CUDA answers: no op serves a CUDA device, so dispatch never comes here with
// one. The refusals below guard against a dispatch that forgets to ask.
#include "backend_hooks.h"
#include "cuda_ops.h"
#include "ditar/kernels/ops/linear_table.h"
#include "linear_backend.h"

namespace ditar {

std::unique_ptr<Linear::Packed> Linear::Packed::make_cuda(ConstTensorView weight, ConstTensorView,
                                                          bool, StreamView) {
  detail::throw_no_cuda(weight.device());
}

std::string tune_linears(Device device, int, StreamView) { detail::throw_no_cuda(device); }
bool load_linear_table(Device device, const std::string&) { detail::throw_no_cuda(device); }

namespace cuda {

bool built() noexcept { return false; }

using detail::throw_no_cuda;

void activate(ConstTensorView x, Activation, TensorView, StreamView) { throw_no_cuda(x.device()); }
void add(ConstTensorView a, ConstTensorView, TensorView, StreamView) { throw_no_cuda(a.device()); }
void norm(const cpu::NormArgs& args, StreamView) { throw_no_cuda(args.x.device()); }
void attention(ConstTensorView q, ConstTensorView, ConstTensorView, double, TensorView, TensorView,
               StreamView) {
  throw_no_cuda(q.device());
}
void attention_merge(ConstTensorView part, ConstTensorView, TensorView, TensorView, StreamView) {
  throw_no_cuda(part.device());
}
void patchify(ConstTensorView image, std::int64_t, TensorView, StreamView) {
  throw_no_cuda(image.device());
}
void unpatchify(ConstTensorView tokens, std::int64_t, TensorView, StreamView) {
  throw_no_cuda(tokens.device());
}
void rearrange(DType, const cpu::RearrangeArgs&, Device device, StreamView) {
  throw_no_cuda(device);
}
void timestep_embedding(std::span<const double>, double, TensorView out, double, StreamView) {
  throw_no_cuda(out.device());
}
void embedding_lookup(ConstTensorView table, std::span<const std::int32_t>, TensorView,
                      StreamView) {
  throw_no_cuda(table.device());
}
void add_rows(ConstTensorView, TensorView x, StreamView) { throw_no_cuda(x.device()); }
void guidance_combine(ConstTensorView cond, ConstTensorView, double, std::int64_t, TensorView,
                      StreamView) {
  throw_no_cuda(cond.device());
}
void sampler_update(const AffineStep&, ConstTensorView, ConstTensorView, ConstTensorView,
                    ConstTensorView, TensorView out, StreamView) {
  throw_no_cuda(out.device());
}
void add_learned_noise(ConstTensorView, double, double, ConstTensorView, TensorView x, StreamView) {
  throw_no_cuda(x.device());
}
void fill_noise(std::uint64_t, std::span<const std::uint64_t>, std::uint32_t, TensorView out,
                StreamView) {
  throw_no_cuda(out.device());
}

}  // namespace cuda
}  // namespace ditar
