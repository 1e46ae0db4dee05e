// Pointwise work on images and latents, in FP32 and FP64: patches, guidance and the samplers'
// affine steps. Memory bound and a small part of a step; plain loops. Dense row-major NCHW.
// Thread-safe.
#pragma once

#include "model_config.h"
#include "sampler_plan.h"

#include <cstdint>

namespace ditar {

/// (N, C, H, W) -> (N, tokens, C * p * p), features in (c, ph, pw) order.
template <typename T>
void patchify(const T* x, std::int64_t images, const ModelConfig& config, T* patches);
/// (N, tokens, p * p * C), features in (ph, pw, c) order -> (N, C, H, W), C = out_channels().
template <typename T>
void unpatchify(const T* patches, std::int64_t images, const ModelConfig& config, T* x);

/// eps (N, C, H, W) from the denoiser's outputs (N, out_channels, H, W):
/// uncond + scale * (cond - uncond) on the first `guided` channels, cond on the others.
/// uncond null: no guidance.
template <typename T>
void guide(const T* cond, const T* uncond, std::int64_t images, const ModelConfig& config,
           double scale, std::int64_t guided, T* eps);

/// One sampler step over `images` latents in place. `cond` gives the variance logits where the plan
/// needs them; `noise` (N, C, H, W) may be null where the step draws none; `history` is this step's
/// x0 afterwards, null where the plan keeps none.
template <typename T>
void sampler_update(const SamplerPlan& plan, std::size_t k, std::int64_t images,
                    const ModelConfig& config, const T* eps, const T* cond, const float* noise,
                    T* history, T* x);

}  // namespace ditar
