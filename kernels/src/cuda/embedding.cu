// Timestep embedding (FP64, rounded once) and table lookup. Host values travel as kernel arguments,
// so a captured graph keeps them and nothing is copied from pageable memory.
#include "element.cuh"

#include <cmath>

namespace ditar::cuda {
namespace {

inline constexpr int kBatch = 128;
struct Timesteps {
  double value[kBatch];
};
struct Indices {
  std::int32_t value[kBatch];
};

template <typename T>
__global__ void timestep_kernel(const Timesteps timesteps, double log_period, double denominator,
                                int width, T* out) {
  const int half = width / 2;
  T* const row = out + std::int64_t(blockIdx.x) * width;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    const double angle = timesteps.value[blockIdx.x] * exp(-log_period * (i / denominator));
    store1(row + i, static_cast<float>(cos(angle)));
    store1(row + half + i, static_cast<float>(sin(angle)));
  }
}

template <typename T>
__global__ void lookup_kernel(const T* table, const Indices indices, std::int64_t width, T* out) {
  const T* const from = table + indices.value[blockIdx.x] * width;
  T* const to = out + std::int64_t(blockIdx.x) * width;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) to[i] = from[i];
}

}  // namespace

void launch_timestep_embedding(DType dtype, const double* timesteps, int count, double shift,
                               double max_period, int width, void* out, cudaStream_t stream) {
  for (int first = 0; first < count; first += kBatch) {
    const int part = count - first < kBatch ? count - first : kBatch;
    Timesteps values{};
    for (int i = 0; i < part; ++i) values.value[i] = timesteps[first + i];
    with_element(dtype, [&]<typename T>(T*) {
      timestep_kernel<T>
          <<<part, kThreads, 0, stream>>>(values, std::log(max_period), width / 2 - shift, width,
                                          static_cast<T*>(out) + std::int64_t(first) * width);
    });
    check_launch("timestep_embedding kernel");
  }
}

void launch_embedding_lookup(DType dtype, const void* table, const std::int32_t* indices, int count,
                             std::int64_t width, void* out, cudaStream_t stream) {
  for (int first = 0; first < count; first += kBatch) {
    const int part = count - first < kBatch ? count - first : kBatch;
    Indices values{};
    for (int i = 0; i < part; ++i) values.value[i] = indices[first + i];
    with_element(dtype, [&]<typename T>(T*) {
      lookup_kernel<T><<<part, kThreads, 0, stream>>>(static_cast<const T*>(table), values, width,
                                                      static_cast<T*>(out) + first * width);
    });
    check_launch("embedding_lookup kernel");
  }
}

}  // namespace ditar::cuda
