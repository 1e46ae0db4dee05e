#include "ditar/kernels/ops/sampler.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {
namespace {

void check_image(const char* op, const char* operand, ConstTensorView image, StreamView stream) {
  check::supported(supports_sampler(image.device(), image.dtype()), op, image.device(),
                   image.dtype());
  check::rank(op, operand, image, 4);
  check::dense(op, operand, image);
  check::stream(op, stream, image.device());
}

/// Like `image`, but with at least as many channels.
void check_wide(const char* op, const char* operand, ConstTensorView view, ConstTensorView image) {
  check::rank(op, operand, view, 4);
  if (view.size(1) < image.size(1)) {
    check::fail(op, operand,
                "has size " + std::to_string(view.size(1)) + " on axis 1, expected at least " +
                    std::to_string(image.size(1)));
  }
  check::dense_like(op, operand, view,
                    Shape{image.size(0), view.size(1), image.size(2), image.size(3)}, image.dtype(),
                    image.device());
}

void check_alike(const char* op, const char* operand, ConstTensorView view, ConstTensorView image) {
  check::dense_like(op, operand, view, image.shape(), image.dtype(), image.device());
}

}  // namespace

bool supports_sampler(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out, StreamView stream) {
  constexpr const char* kOp = "guidance_combine";
  check_image(kOp, "out", out, stream);
  check_wide(kOp, "cond", cond, out);
  check_wide(kOp, "uncond", uncond, out);
  check_alike(kOp, "uncond", uncond, cond);
  if (guided_channels < 0 || guided_channels > out.size(1)) {
    check::fail(
        kOp, "guided_channels",
        "is " + std::to_string(guided_channels) + ", expected 0.." + std::to_string(out.size(1)));
  }
  const std::int64_t guided = guided_channels == 0 ? out.size(1) : guided_channels;
  if (check::is_cuda(out)) {
    return cuda::guidance_combine(cond, uncond, guidance, guided, out, stream);
  }
  cpu::guidance_combine(cond, uncond, guidance, guided, out);
}

void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out,
                    StreamView stream) {
  constexpr const char* kOp = "sampler_update";
  check_image(kOp, "out", out, stream);
  if (step.a != 0.0) check_alike(kOp, "x", x, out);
  if (step.b != 0.0) check_wide(kOp, "eps", eps, out);
  if (step.c != 0.0) check_alike(kOp, "previous", previous, out);
  if (step.s != 0.0) check_alike(kOp, "noise", noise, out);
  if (check::is_cuda(out)) {
    return cuda::sampler_update(step, x, eps, previous, noise, out, stream);
  }
  cpu::sampler_update(step, x, eps, previous, noise, out);
}

void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x, StreamView stream) {
  constexpr const char* kOp = "add_learned_noise";
  check_image(kOp, "x", x, stream);
  check::dense_like(kOp, "model_out", model_out,
                    Shape{x.size(0), 2 * x.size(1), x.size(2), x.size(3)}, x.dtype(), x.device());
  check_alike(kOp, "noise", noise, x);
  if (check::is_cuda(x)) {
    return cuda::add_learned_noise(model_out, min_log, max_log, noise, x, stream);
  }
  cpu::add_learned_noise(model_out, min_log, max_log, noise, x);
}

void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out, StreamView stream) {
  constexpr const char* kOp = "fill_noise";
  check_image(kOp, "out", out, stream);
  check::shape(
      kOp, "out", out,
      Shape{static_cast<std::int64_t>(images.size()), out.size(1), out.size(2), out.size(3)});
  if (check::is_cuda(out)) return cuda::fill_noise(seed, images, step, out, stream);
  cpu::fill_noise(seed, images, step, out);
}

}  // namespace ditar
