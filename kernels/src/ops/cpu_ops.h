// CPU implementations behind the dispatch of src/ops. Arguments are already checked. Each serves
// f32 and f64 by the dtype of its views. Stateless, thread-safe, no allocation. Internal to
// kernels.
#pragma once

#include "ditar/kernels/ops/activation.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/embedding.h"
#include "ditar/kernels/ops/norm.h"
#include "ditar/kernels/ops/patch.h"
#include "ditar/kernels/ops/rearrange.h"
#include "ditar/kernels/ops/sampler.h"

#include <array>

namespace ditar::cpu {

void activate(ConstTensorView x, Activation activation, TensorView y);
void add(ConstTensorView a, ConstTensorView b, TensorView y);

/// y and gate may be empty (no residual), shift and h may be empty (no norm).
struct NormArgs {
  ConstTensorView y, gate, shift, scale;
  double eps = 0.0;
  ConstTensorView x;
  TensorView x_out;  ///< empty without a residual
  TensorView h;
};
void norm(const NormArgs& args);

std::size_t attention_workspace_bytes(DType dtype, std::int64_t q_length, std::int64_t kv_length,
                                      std::int64_t head_size) noexcept;
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, TensorView workspace);
void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out,
                     TensorView lse);

void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens);
void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image);

/// A strided copy as raw numbers; views of fewer axes are padded with leading sizes of 1.
inline constexpr int kRearrangeAxes = 4;
struct RearrangeArgs {
  const void* from = nullptr;
  void* to = nullptr;
  std::array<std::int64_t, kRearrangeAxes> sizes{1, 1, 1, 1}, from_strides{}, to_strides{};
};
void rearrange(DType dtype, const RearrangeArgs& args);

void timestep_embedding(std::span<const double> timesteps, double shift, TensorView out,
                        double max_period);
void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices, TensorView out);
void add_rows(ConstTensorView rows, TensorView x);

void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out);
void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out);
void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x);
void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out);

/// Calls body with a zero of the view's C++ type: f32 or f64.
template <typename Body>
void with_type(DType dtype, const Body& body) {
  if (dtype == DType::kF32) {
    body(float{});
  } else {
    body(double{});
  }
}

}  // namespace ditar::cpu
