// Embeddings of timesteps, labels and positions. Stateless, thread-safe. f32, f64 on the CPU; f32,
// f16, bf16 on CUDA, where host values travel as kernel arguments and a captured graph keeps them.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

#include <span>

namespace ditar {

bool supports_embedding(Device device, DType dtype) noexcept;

/// Which frequency denominator: f_i = max_period^(-i / (half - shift)), half = width / 2.
/// kOfficial: shift 0 (facebookresearch/DiT). kDiffusers: shift 1 (downscale_freq_shift=1).
enum class TimestepFrequencies : std::uint8_t { kOfficial, kDiffusers };

/// out[b] = [cos(t_b f_0..), sin(t_b f_0..)], computed in FP64 and rounded once.
/// @param timesteps B values in host memory (index into the training schedule, may be fractional)
/// @param out (B, width) dense, width even and >= 4
/// @throws InvalidArgument naming the axis at fault.
void timestep_embedding(std::span<const double> timesteps, TimestepFrequencies frequencies,
                        TensorView out, StreamView stream, double max_period = 10000.0);

/// out[b] = table[indices[b]]. Indices are host values and are checked before anything is written.
/// @param table (rows, D) dense    @param out (B, D) dense, same dtype
/// @throws InvalidArgument naming the first index outside 0..rows-1.
void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices, TensorView out,
                      StreamView stream);

/// x[b] += rows, for every image: adds the position table. x (B, T, D), rows (T, D), dense.
void add_rows(ConstTensorView rows, TensorView x, StreamView stream);

}  // namespace ditar
