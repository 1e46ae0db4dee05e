// CUDA implementations behind the dispatch of src/ops. Arguments are already checked; all enqueue
// on `stream`, allocate nothing and may be captured into a graph. f32, f16, bf16 by the views'
// dtypes. src/cuda defines them; a build without CUDA links ops/cuda_absent.cc. Thread-safe.
// Internal.
#pragma once

#include "cpu_ops.h"

namespace ditar::cuda {

/// True in a build with CUDA, whether or not a device is there.
bool built() noexcept;

/// Whether ops run for this dtype on this device.
inline bool serves(Device device, DType dtype) noexcept {
  return built() && device.type == DeviceType::kCuda &&
         (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16);
}

void activate(ConstTensorView x, Activation activation, TensorView y, StreamView stream);
void add(ConstTensorView a, ConstTensorView b, TensorView y, StreamView stream);

void norm(const cpu::NormArgs& args, StreamView stream);

/// Largest head size that attention() takes.
inline constexpr std::int64_t kMaxHeadSize = 256;
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, StreamView stream);
void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out, TensorView lse,
                     StreamView stream);

void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens, StreamView stream);
void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image, StreamView stream);

void rearrange(DType dtype, const cpu::RearrangeArgs& args, Device device, StreamView stream);

void timestep_embedding(std::span<const double> timesteps, double shift, TensorView out,
                        double max_period, StreamView stream);
void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices, TensorView out,
                      StreamView stream);
void add_rows(ConstTensorView rows, TensorView x, StreamView stream);

void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out, StreamView stream);
void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out,
                    StreamView stream);
void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x, StreamView stream);
void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out, StreamView stream);

}  // namespace ditar::cuda
