// Attention forward for 16-bit inputs with FP32 accumulation, in the manner of FlashAttention-2:
// one block owns kRows query rows of one (image, head) and walks the keys in tiles of kKeys,
// keeping the running maximum and sum of each row in registers; the scores never leave the SM.
//
// Layout: q, k, v rows of D contiguous elements at any row stride that is a multiple of 8 elements,
// so packed (B,T,3,H,D) is read in place; out is (B,T,H*D) or any such stride. Head size D is a
// multiple of 8; D = 16a + 8 (72, 40) ends with one m16n8k8 step, so nothing is padded.
// Launch: grid (ceil(Tq / kRows), H, B), 32 * kWarps threads; each warp owns 16 * kTiles query
// rows. Shared memory: K and V tiles, double-buffered; Q passes through the first K buffer. Rows
// are padded to an odd number of 16-byte chunks, which makes ldmatrix free of bank conflicts (72
// needs no pad). Bound: tensor cores on sm_86 (1024 FLOP/clk/SM); shared-memory bandwidth and exp
// come next.
#pragma once

#include "cuda_check.h"
#include "launch.h"
#include "mma.cuh"

#include <cuda_runtime.h>

#include <cmath>

namespace ditar::cuda {

template <typename T, int D, int kWarps, int kTiles, int kKeys>
struct FlashKernel {
  static_assert(D % 8 == 0 && kKeys % 16 == 0);
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRows = 16 * kTiles * kWarps;
  static constexpr int kChunks = D / 8;              // 16-byte chunks a row holds
  static constexpr int kStride = (kChunks | 1) * 8;  // elements, odd chunk count
  static constexpr int kFull = D / 16;               // k16 steps of Q K^T
  static constexpr bool kRest = D % 16 != 0;         // one k8 step
  static constexpr int kTile = kKeys * kStride;      // elements of one K or V tile
  static constexpr int kBuffers = 4 * kTile;         // K0 V0 K1 V1
  static constexpr int kQuery = kRows * kStride;
  static constexpr int kSharedBytes = (kBuffers > kQuery ? kBuffers : kQuery) * int(sizeof(T));

  static_assert(kSharedBytes <= 99 * 1024, "more shared memory than a block of sm_86 may have");

  /// rows x D elements, global -> shared; rows at or past `limit` become zeros.
  template <int kCount>
  static __device__ void load_tile(T* shared, const T* global, std::int64_t row_stride, int first,
                                   int limit) {
#pragma unroll
    for (int i = threadIdx.x; i < kCount * kChunks; i += kThreads) {
      const int row = i / kChunks, chunk = i % kChunks;
      const bool valid = first + row < limit;
      const T* source = global + (valid ? first + row : 0) * row_stride + chunk * 8;
      copy_async_16(shared + row * kStride + chunk * 8, source, valid);
    }
  }

  static __device__ void run(const AttentionLaunch& a) {
    extern __shared__ __align__(128) unsigned char raw[];
    T* const shared = reinterpret_cast<T*>(raw);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int head = blockIdx.y, image = blockIdx.z, first_row = blockIdx.x * kRows;
    const T* q = static_cast<const T*>(a.q) + image * a.q_image_stride + head * a.q_head_stride;
    const T* k = static_cast<const T*>(a.k) + image * a.k_image_stride + head * a.k_head_stride;
    const T* v = static_cast<const T*>(a.v) + image * a.v_image_stride + head * a.v_head_stride;

    // Queries: global -> shared -> registers, once.
    std::uint32_t q_full[kTiles][kFull > 0 ? kFull : 1][4];  // A fragments (16,16)
    std::uint32_t q_rest[kTiles][2];                         // A fragment (16,8)
    load_tile<kRows>(shared, q, a.q_row_stride, first_row, a.queries);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      const int row = (warp * kTiles + m) * 16 + lane % 16;
#pragma unroll
      for (int s = 0; s < kFull; ++s) {
        load_matrix_x4(q_full[m][s], shared + row * kStride + s * 16 + (lane / 16) * 8);
      }
      if constexpr (kRest) load_matrix_x2(q_rest[m], shared + row * kStride + kFull * 16);
    }
    __syncthreads();

    const int tiles = (a.keys + kKeys - 1) / kKeys;
    load_tile<kKeys>(shared, k, a.k_row_stride, 0, a.keys);
    copy_async_commit();
    load_tile<kKeys>(shared + kTile, v, a.v_row_stride, 0, a.keys);
    copy_async_commit();

    float out[kTiles][kChunks][4] = {};  // (16, D) per row tile
    float maximum[kTiles][2], sum[kTiles][2];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      maximum[m][0] = maximum[m][1] = -INFINITY;
      sum[m][0] = sum[m][1] = 0.0F;
    }
    const float scale_log2 = a.scale * 1.4426950408889634F;

    for (int tile = 0; tile < tiles; ++tile) {
      T* const keys_now = shared + (tile % 2) * 2 * kTile;
      T* const values_now = keys_now + kTile;
      if (tile + 1 < tiles) {
        T* const next = shared + ((tile + 1) % 2) * 2 * kTile;
        load_tile<kKeys>(next, k, a.k_row_stride, (tile + 1) * kKeys, a.keys);
        copy_async_commit();
        load_tile<kKeys>(next + kTile, v, a.v_row_stride, (tile + 1) * kKeys, a.keys);
        copy_async_commit();
        copy_async_wait<3>();
      } else {
        copy_async_wait<1>();
      }
      __syncthreads();

      float score[kTiles][kKeys / 8][4] = {};  // (16, kKeys) per row tile
      scores(score, q_full, q_rest, keys_now, lane);
      if ((tile + 1) * kKeys > a.keys) mask(score, tile * kKeys, a.keys, lane);
      softmax(score, out, maximum, sum, scale_log2);

      if (tile + 1 < tiles) {
        copy_async_wait<2>();
      } else {
        copy_async_wait<0>();
      }
      __syncthreads();
      accumulate(out, score, values_now, lane);
      __syncthreads();
    }
    write(a, out, maximum, sum, first_row, warp, lane, head, image);
  }

  /// score (16*kTiles, kKeys) = Q K^T.
  static __device__ void scores(float (&score)[kTiles][kKeys / 8][4],
                                const std::uint32_t (&q_full)[kTiles][kFull > 0 ? kFull : 1][4],
                                const std::uint32_t (&q_rest)[kTiles][2], const T* keys, int lane) {
#pragma unroll
    for (int pair = 0; pair < kKeys / 16; ++pair) {
      // Matrices of an x4: keys 0-7 chunk 0, keys 0-7 chunk 1, keys 8-15 chunk 0, keys 8-15
      // chunk 1.
      const T* row = keys + (pair * 16 + (lane / 16) * 8 + lane % 8) * kStride;
#pragma unroll
      for (int s = 0; s < kFull; ++s) {
        std::uint32_t b[4];
        load_matrix_x4(b, row + s * 16 + ((lane / 8) % 2) * 8);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          Mma<T>::k16(score[m][2 * pair], q_full[m][s], b[0], b[1]);
          Mma<T>::k16(score[m][2 * pair + 1], q_full[m][s], b[2], b[3]);
        }
      }
      if constexpr (kRest) {
        std::uint32_t b[2];
        load_matrix_x2(b, keys + (pair * 16 + lane % 16) * kStride + kFull * 16);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          Mma<T>::k8(score[m][2 * pair], q_rest[m], b[0]);
          Mma<T>::k8(score[m][2 * pair + 1], q_rest[m], b[1]);
        }
      }
    }
  }

  static __device__ void mask(float (&score)[kTiles][kKeys / 8][4], int first, int limit,
                              int lane) {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      const int key = first + n * 8 + (lane % 4) * 2;
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        if (key >= limit) score[m][n][0] = score[m][n][2] = -INFINITY;
        if (key + 1 >= limit) score[m][n][1] = score[m][n][3] = -INFINITY;
      }
    }
  }

  /// Scores become probabilities against the running maximum; what was summed before is rescaled.
  static __device__ void softmax(float (&score)[kTiles][kKeys / 8][4],
                                 float (&out)[kTiles][kChunks][4], float (&maximum)[kTiles][2],
                                 float (&sum)[kTiles][2], float scale_log2) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // rows lane/4 and lane/4 + 8
        float largest = maximum[m][half];
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
          largest = fmaxf(largest, fmaxf(score[m][n][2 * half], score[m][n][2 * half + 1]));
        }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
        const float shift = largest * scale_log2;
        const float keep = exp2_fast(maximum[m][half] * scale_log2 - shift);
        maximum[m][half] = largest;
        float part = 0.0F;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            score[m][n][e] = exp2_fast(fmaf(score[m][n][e], scale_log2, -shift));
            part += score[m][n][e];
          }
        }
        sum[m][half] = sum[m][half] * keep + part;
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          out[m][c][2 * half] *= keep;
          out[m][c][2 * half + 1] *= keep;
        }
      }
    }
  }

  /// out (16*kTiles, D) += P V; accumulator fragments of P are A fragments after packing.
  static __device__ void accumulate(float (&out)[kTiles][kChunks][4],
                                    const float (&score)[kTiles][kKeys / 8][4], const T* values,
                                    int lane) {
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      std::uint32_t p[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        const float(&low)[4] = score[m][2 * step];
        const float(&high)[4] = score[m][2 * step + 1];
        p[m][0] = pack<T>(low[0], low[1]);
        p[m][1] = pack<T>(low[2], low[3]);
        p[m][2] = pack<T>(high[0], high[1]);
        p[m][3] = pack<T>(high[2], high[3]);
      }
      const T* row = values + (step * 16 + lane % 16) * kStride;
#pragma unroll
      for (int c = 0; c + 1 < kChunks; c += 2) {
        std::uint32_t b[4];  // keys 0-7 / 8-15 of chunk c, then of chunk c + 1
        load_matrix_x4_transposed(b, row + (c + lane / 16) * 8);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          Mma<T>::k16(out[m][c], p[m], b[0], b[1]);
          Mma<T>::k16(out[m][c + 1], p[m], b[2], b[3]);
        }
      }
      if constexpr (kChunks % 2 != 0) {
        std::uint32_t b[2];
        load_matrix_x2_transposed(b, row + (kChunks - 1) * 8);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) Mma<T>::k16(out[m][kChunks - 1], p[m], b[0], b[1]);
      }
    }
  }

  static __device__ void write(const AttentionLaunch& a, float (&out)[kTiles][kChunks][4],
                               float (&maximum)[kTiles][2], float (&sum)[kTiles][2], int first_row,
                               int warp, int lane, int head, int image) {
    T* target = static_cast<T*>(a.out) + image * a.out_image_stride + head * a.out_head_stride;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float total = sum[m][half];
        total += __shfl_xor_sync(0xffffffff, total, 1);
        total += __shfl_xor_sync(0xffffffff, total, 2);
        const int row = first_row + (warp * kTiles + m) * 16 + lane / 4 + 8 * half;
        if (row >= a.queries) continue;
        const float inverse = 1.0F / total;
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          *reinterpret_cast<std::uint32_t*>(target + row * a.out_row_stride + c * 8 +
                                            (lane % 4) * 2) =
              pack<T>(out[m][c][2 * half] * inverse, out[m][c][2 * half + 1] * inverse);
        }
        if (a.log_sum_exp != nullptr && lane % 4 == 0) {
          a.log_sum_exp[(std::int64_t(image) * a.heads + head) * a.queries + row] =
              maximum[m][half] * a.scale + logf(total);
        }
      }
    }
  }
};

template <typename T, int D, int kWarps, int kTiles, int kKeys>
__global__ void __launch_bounds__(32 * kWarps) flash_attention_kernel(const AttentionLaunch a) {
  FlashKernel<T, D, kWarps, kTiles, kKeys>::run(a);
}

/// Launches one instance; the shared-memory limit is raised once per device and instance.
template <typename T, int D, int kWarps, int kTiles, int kKeys>
void launch_flash(const AttentionLaunch& a, cudaStream_t stream) {
  using Kernel = FlashKernel<T, D, kWarps, kTiles, kKeys>;
  const auto kernel = flash_attention_kernel<T, D, kWarps, kTiles, kKeys>;
  if constexpr (Kernel::kSharedBytes > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Kernel::kSharedBytes),
          "cudaFuncSetAttribute of flash_attention");
  }
  const dim3 grid((a.queries + Kernel::kRows - 1) / Kernel::kRows, a.heads, a.images);
  kernel<<<grid, Kernel::kThreads, Kernel::kSharedBytes, stream>>>(a);
  check_launch("flash_attention kernel");
}

/// Both dtypes and tiles of one head size: narrow is 4 warps of 16 rows, wide 4 of 32 or 8 of 16.
template <int D, int kKeys, int kWideWarps, int kWideTiles>
void launch_flash_of_size(DType dtype, AttentionTile tile, const AttentionLaunch& a,
                          cudaStream_t stream) {
  const bool half = dtype == DType::kF16;
  if (tile == AttentionTile::kNarrow) {
    half ? launch_flash<__half, D, 4, 1, kKeys>(a, stream)
         : launch_flash<__nv_bfloat16, D, 4, 1, kKeys>(a, stream);
  } else {
    half ? launch_flash<__half, D, kWideWarps, kWideTiles, kKeys>(a, stream)
         : launch_flash<__nv_bfloat16, D, kWideWarps, kWideTiles, kKeys>(a, stream);
  }
}

}  // namespace ditar::cuda
