// Scalar element access in FP32 and the choice of a C++ type by DType. Included by .cu files only.
#pragma once

#include "cuda_check.h"
#include "ditar/kernels/dtype.h"
#include "launch.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ditar::cuda {

__device__ inline float load1(const float* p) { return *p; }
__device__ inline float load1(const __half* p) { return __half2float(*p); }
__device__ inline float load1(const __nv_bfloat16* p) { return __bfloat162float(*p); }
__device__ inline void store1(float* p, float value) { *p = value; }
__device__ inline void store1(__half* p, float value) { *p = __float2half_rn(value); }
__device__ inline void store1(__nv_bfloat16* p, float value) { *p = __float2bfloat16_rn(value); }

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), x / (1 + e^-x), or x.
__device__ inline float activated(float x, int activation) {
  if (activation == 1) {
    return 0.5F * x * (1.0F + tanhf(0.7978845608028654F * (x + 0.044715F * x * x * x)));
  }
  if (activation == 2) return x / (1.0F + expf(-x));
  return x;
}

/// Calls body with a null pointer of the element type.
template <typename Body>
void with_element(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF32:
      body(static_cast<float*>(nullptr));
      return;
    case DType::kF16:
      body(static_cast<__half*>(nullptr));
      return;
    case DType::kBF16:
      body(static_cast<__nv_bfloat16*>(nullptr));
      return;
    default:
      throw InvalidArgument("CUDA ops take f32, f16 or bf16");
  }
}

inline constexpr int kThreads = 256;
/// Blocks of a grid-stride loop over `count` elements: enough to fill any GPU, never too many.
inline unsigned int blocks_for(std::int64_t count) {
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned int>(blocks < 16384 ? (blocks > 0 ? blocks : 1) : 16384);
}
__device__ inline std::int64_t first_index() {
  return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_step() { return std::int64_t(gridDim.x) * blockDim.x; }

}  // namespace ditar::cuda
