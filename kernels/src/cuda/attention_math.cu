// Attention without tensor cores: FP32 arithmetic for f32 (no TF32) and for head sizes and strides
// that the tensor-core kernels do not take, and the merge of partial attentions.
//
// One warp owns one query row; the 8 warps of a block share a tile of 32 keys, then of 32 values,
// in shared memory. Lane l scores key l of the tile; the output row is spread over the lanes,
// kColumns elements each. Running maximum and sum as in FlashAttention-2. Bound: FP32 arithmetic.
#include "element.cuh"
#include "vector.cuh"

#include <cmath>

namespace ditar::cuda {
namespace {

inline constexpr int kRows = 8;
inline constexpr int kTileKeys = 32;

__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
  }
  return value;
}

template <typename T>
__device__ void load_rows(float* tile, int stride, const T* from, std::int64_t row_stride, int rows,
                          int size) {
  for (int i = threadIdx.x; i < kTileKeys * size; i += blockDim.x) {
    const int row = i / size, column = i % size;
    tile[row * stride + column] = row < rows ? load1(from + row * row_stride + column) : 0.0F;
  }
}

template <typename T, int kColumns>
__global__ void __launch_bounds__(32 * kRows) math_kernel(const AttentionLaunch a, int size) {
  extern __shared__ float memory[];
  const int stride = size + 1;  // odd for even sizes: lanes read different banks
  float* const tile = memory;   // (32, size)
  float* const queries = memory + kTileKeys * stride;  // (8, size)
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = blockIdx.x * kRows + warp, head = blockIdx.y, image = blockIdx.z;
  const bool valid = row < a.queries;
  const T* q = static_cast<const T*>(a.q) + image * a.q_image_stride + head * a.q_head_stride;
  const T* k = static_cast<const T*>(a.k) + image * a.k_image_stride + head * a.k_head_stride;
  const T* v = static_cast<const T*>(a.v) + image * a.v_image_stride + head * a.v_head_stride;
  float* const query = queries + warp * stride;
  for (int i = lane; i < size; i += 32) {
    query[i] = valid ? load1(q + row * a.q_row_stride + i) * a.scale : 0.0F;
  }

  float out[kColumns] = {};
  float maximum = -INFINITY, sum = 0.0F;
  for (int first = 0; first < a.keys; first += kTileKeys) {
    const int rows = min(kTileKeys, a.keys - first);
    __syncthreads();
    load_rows(tile, stride, k + first * a.k_row_stride, a.k_row_stride, rows, size);
    __syncthreads();
    float score = 0.0F;
    for (int i = 0; i < size; ++i) score = fmaf(query[i], tile[lane * stride + i], score);
    if (lane >= rows) score = -INFINITY;
    const float largest = fmaxf(maximum, warp_max(score));
    const float keep = expf(maximum - largest);
    const float weight = expf(score - largest);
    maximum = largest;
    sum = sum * keep + warp_sum(weight);
    __syncthreads();
    load_rows(tile, stride, v + first * a.v_row_stride, a.v_row_stride, rows, size);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kColumns; ++c) out[c] *= keep;
    for (int key = 0; key < rows; ++key) {
      const float p = __shfl_sync(0xffffffff, weight, key);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int column = c * 32 + lane;
        if (column < size) out[c] = fmaf(p, tile[key * stride + column], out[c]);
      }
    }
  }
  if (!valid) return;
  T* const to = static_cast<T*>(a.out) + image * a.out_image_stride + row * a.out_row_stride +
                head * a.out_head_stride;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    if (c * 32 + lane < size) store1(to + c * 32 + lane, out[c] / sum);
  }
  if (a.log_sum_exp != nullptr && lane == 0) {
    a.log_sum_exp[(std::int64_t(image) * a.heads + head) * a.queries + row] = maximum + logf(sum);
  }
}

/// One warp merges one (image, head, row).
template <typename T>
__global__ void merge_kernel(const AttentionMergeLaunch a) {
  const int lane = threadIdx.x % 32;
  const std::int64_t index = std::int64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (index >= std::int64_t(a.images) * a.heads * a.queries) return;
  const std::int64_t row = index % a.queries, head = index / a.queries % a.heads;
  const std::int64_t image = index / (std::int64_t(a.queries) * a.heads);
  const float mine = a.lse[index], other = a.part_lse[index];
  const float largest = fmaxf(mine, other);
  const float w0 = expf(mine - largest), w1 = expf(other - largest);
  const T* part = static_cast<const T*>(a.part) + image * a.part_image_stride +
                  row * a.part_row_stride + head * a.part_head_stride;
  T* out = static_cast<T*>(a.out) + image * a.out_image_stride + row * a.out_row_stride +
           head * a.out_head_stride;
  for (int i = lane; i < a.head_size; i += 32) {
    store1(out + i, (w0 * load1(out + i) + w1 * load1(part + i)) / (w0 + w1));
  }
  __syncwarp();
  if (lane == 0) a.lse[index] = largest + logf(w0 + w1);
}

template <typename T, int kColumns>
void launch(const AttentionLaunch& a, int size, cudaStream_t stream) {
  const std::size_t shared = sizeof(float) * (kTileKeys + kRows) * (size + 1);
  const dim3 grid((a.queries + kRows - 1) / kRows, a.heads, a.images);
  math_kernel<T, kColumns><<<grid, 32 * kRows, shared, stream>>>(a, size);
}

}  // namespace

void launch_math_attention(DType dtype, int head_size, const AttentionLaunch& arguments,
                           cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    switch ((head_size + 31) / 32) {
      case 1:
        launch<T, 1>(arguments, head_size, stream);
        return;
      case 2:
        launch<T, 2>(arguments, head_size, stream);
        return;
      case 3:
        launch<T, 3>(arguments, head_size, stream);
        return;
      case 4:
        launch<T, 4>(arguments, head_size, stream);
        return;
      default:
        launch<T, 8>(arguments, head_size, stream);
        return;
    }
  });
  check_launch("math attention kernel");
}

void launch_attention_merge(DType dtype, const AttentionMergeLaunch& arguments,
                            cudaStream_t stream) {
  const std::int64_t rows = std::int64_t(arguments.images) * arguments.heads * arguments.queries;
  const auto blocks = static_cast<unsigned int>((rows + 7) / 8);
  with_element(dtype,
               [&]<typename T>(T*) { merge_kernel<T><<<blocks, 256, 0, stream>>>(arguments); });
  check_launch("attention_merge kernel");
}

}  // namespace ditar::cuda
