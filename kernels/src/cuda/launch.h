// Kernel launches as plain functions over raw pointers: the border between host code (.cc, g++) and
// device code (.cu, nvcc). All enqueue on `stream` and check the launch; dtypes are f32, f16, bf16;
// arithmetic is FP32 unless said otherwise. Thread-safe. Internal to kernels.
#pragma once

#include "ditar/kernels/dtype.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ditar::cuda {

/// y = activation(x), `count` elements; activation as ditar::Activation counts.
void launch_activate(DType dtype, const void* x, int activation, void* y, std::int64_t count,
                     cudaStream_t stream);
void launch_add(DType dtype, const void* a, const void* b, void* y, std::int64_t count,
                cudaStream_t stream);
/// x[i] += rows[i % block].
void launch_add_rows(DType dtype, const void* rows, std::int64_t block, void* x, std::int64_t count,
                     cudaStream_t stream);
void launch_convert(DType from, const void* src, DType to, void* dst, std::int64_t count,
                    cudaStream_t stream);

/// y[r][n] = residual[r][n] + gate[r / rows_per_image][n] * activation(y[r][n]); null parts fall
/// out.
struct RowEpilogue {
  void* y;
  std::int64_t y_stride;
  const void* gate;
  std::int64_t gate_stride, rows_per_image;
  const void* residual;  ///< dense (rows, columns)
  std::int64_t rows, columns;
  int activation;
};
void launch_row_epilogue(DType dtype, const RowEpilogue& arguments, cudaStream_t stream);

/// As FusedNormArguments, untyped; x may be f32 while the others are of `dtype`.
struct NormLaunch {
  const void* x;
  void* x_out;
  const void* y;
  const void* gate;
  const void* shift;
  const void* scale;
  void* h;
  std::int64_t gate_stride, shift_stride, scale_stride;
  std::int64_t rows, rows_per_image, width;
  float epsilon;
};
void launch_norm(DType residual, DType dtype, const NormLaunch& arguments, cudaStream_t stream);

struct AttentionLaunch {
  const void* q;
  const void* k;
  const void* v;
  void* out;
  float* log_sum_exp;  ///< (B,H,Tq) natural logarithm, or null
  std::int64_t q_image_stride, q_row_stride, q_head_stride;  ///< elements
  std::int64_t k_image_stride, k_row_stride, k_head_stride;
  std::int64_t v_image_stride, v_row_stride, v_head_stride;
  std::int64_t out_image_stride, out_row_stride, out_head_stride;
  int images, heads, queries, keys;
  float scale;
};
/// Tile of a tensor-core attention: narrow = 64 query rows a block (fills the GPU at small
/// batches), wide = 128 (reads shared memory half as often).
enum class AttentionTile : std::uint8_t { kNarrow, kWide };
/// False if there is no tensor-core kernel for this dtype and head size, or pointers and strides
/// are not multiples of 16 bytes; then nothing was enqueued.
bool launch_flash_attention(DType dtype, int head_size, AttentionTile tile,
                            const AttentionLaunch& arguments, cudaStream_t stream);
/// Any head size up to 256 and any strides; FP32 on the CUDA cores.
void launch_math_attention(DType dtype, int head_size, const AttentionLaunch& arguments,
                           cudaStream_t stream);

struct AttentionMergeLaunch {
  const void* part;
  const float* part_lse;
  void* out;
  float* lse;
  std::int64_t part_image_stride, part_row_stride, part_head_stride;
  std::int64_t out_image_stride, out_row_stride, out_head_stride;
  int images, heads, queries, head_size;
};
void launch_attention_merge(DType dtype, const AttentionMergeLaunch& arguments,
                            cudaStream_t stream);

/// Image (B,C,height,width) <-> token rows; dtypes may differ.
struct PatchLaunch {
  std::int64_t images, channels, height, width, patch;
};
void launch_patchify(DType image_dtype, const void* image, DType token_dtype, void* tokens,
                     const PatchLaunch& arguments, cudaStream_t stream);
void launch_unpatchify(DType token_dtype, const void* tokens, DType image_dtype, void* image,
                       const PatchLaunch& arguments, cudaStream_t stream);

/// Strided copy of 4 axes; unit stride over the last. `element_bytes` is 2 or 4.
struct RearrangeLaunch {
  const void* from;
  void* to;
  std::int64_t sizes[4], from_strides[4], to_strides[4];  ///< elements
};
void launch_rearrange(int element_bytes, const RearrangeLaunch& arguments, cudaStream_t stream);

void launch_timestep_embedding(DType dtype, const double* timesteps, int count, double shift,
                               double max_period, int width, void* out, cudaStream_t stream);
void launch_embedding_lookup(DType dtype, const void* table, const std::int32_t* indices, int count,
                             std::int64_t width, void* out, cudaStream_t stream);

/// Per image: `block` elements of out; cond and uncond advance by `in_block`.
void launch_guidance(DType dtype, const void* cond, const void* uncond, float guidance,
                     std::int64_t guided, std::int64_t block, std::int64_t in_block,
                     std::int64_t images, void* out, cudaStream_t stream);

struct SamplerLaunch {
  const void* x;  ///< null where its factor is 0, like the others
  const void* eps;
  const void* previous;
  const void* noise;
  void* out;
  float a, b, c, s;
  std::int64_t block, eps_block, images;
};
void launch_sampler(DType dtype, const SamplerLaunch& arguments, cudaStream_t stream);
void launch_learned_noise(DType dtype, const void* model_out, double min_log, double max_log,
                          const void* noise, void* x, std::int64_t block, std::int64_t images,
                          cudaStream_t stream);
void launch_noise(DType dtype, std::uint64_t seed, const std::uint64_t* images, int count,
                  std::uint32_t step, std::int64_t block, void* out, cudaStream_t stream);

}  // namespace ditar::cuda
