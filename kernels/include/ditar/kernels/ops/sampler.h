// What happens to a denoiser's output: guidance, one sampler step, learned variance, noise. All
// stateless and thread-safe. Images are dense (B, C, height, width), f32 or f64 on the CPU, f32,
// f16 or bf16 on CUDA; step scalars are FP64 on the host and rounded to the tensors' dtype once.
// Pointwise, so any output may be any input exactly.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

#include <span>

namespace ditar {

bool supports_sampler(Device device, DType dtype) noexcept;

/// out = uncond + guidance * (cond - uncond) on channels [0, guided_channels), cond beyond them.
/// @param cond, uncond (B, C, height, width); C may exceed out's channels (learned variance): only
///        the first out.size(1) channels of each image are read
/// @param guided_channels 1..C, or 0 for all
void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out, StreamView stream);

/// x' = a x + b eps + c previous + s noise. A scalar of 0 means that its tensor is not read (and
/// may be an empty view; NaN in it does not spread).
///
/// With A = alpha-bar at t, P = alpha-bar at the next timestep, x0 = (x - sqrt(1-A) eps) / sqrt(A):
///  - DDIM (Song et al. 2021, eq. 12): s = eta sqrt((1-P)/(1-A)) sqrt(1-A/P); a = sqrt(P/A);
///    b = sqrt(1-P-s^2) - a sqrt(1-A); c = 0.
///  - DDPM with fixed variance (Ho et al. 2020, eq. 11): beta = 1 - A/P;
///    x0's weight w = beta sqrt(P)/(1-A); a = (1-P) sqrt(A/P)/(1-A) + w/sqrt(A);
///    b = -w sqrt(1-A)/sqrt(A); s = the standard deviation, 0 at the last step.
///    Learned variance: s = 0 here, then add_learned_noise().
///  - DPM-Solver++ 2M (Lu et al. 2022, alg. 2) keeps x0 of the step before: call once with
///    a = 1/sqrt(A), b = -sqrt(1-A)/sqrt(A) for x0; then with eps := x0, previous := the former x0,
///    a = sigma_next/sigma, b = -alpha_next (e^-h - 1)(1 + 1/(2r)),
///    c = alpha_next (e^-h - 1)/(2r) (first order: c = 0 and no 1/(2r)).
struct AffineStep {
  double a = 1.0;
  double b = 0.0;
  double c = 0.0;
  double s = 0.0;
};

/// @param x, eps, previous, noise, out (B, C, height, width) alike. eps alone may have more
///        channels (learned variance): the first C of each image are read.
void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out,
                    StreamView stream);

/// x += exp(0.5 (f max_log + (1-f) min_log)) noise with f = (v + 1) / 2 (Nichol and Dhariwal 2021,
/// eq. 15).
/// @param model_out (B, 2C, height, width): v is its second half of channels
/// @param min_log, max_log log of the posterior variance and of beta at this step
/// @param noise, x (B, C, height, width)
void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x, StreamView stream);

/// Fills image b with the Philox normals of (seed, images[b], step); ditar/config/philox.h defines
/// key and counter. An image's noise does not depend on the batch that it is in.
/// @param images B global image indices in host memory
void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out, StreamView stream);

}  // namespace ditar
