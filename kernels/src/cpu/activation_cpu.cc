// Pointwise ops on the CPU; memory bound, GELU and SiLU near the compute bound of exp.
#include "ops/cpu_ops.h"
#include "parallel_for.h"
#include "reference_math.h"
#include "simd_kernels.h"

namespace ditar::cpu {

void activate(ConstTensorView x, Activation activation, TensorView y) {
  const std::int64_t count = x.count();
  if (x.dtype() == DType::kF32) {
    const float* from = x.as<float>();
    float* to = y.as<float>();
    parallel_for(count, count, [&](std::int64_t begin, std::int64_t end, int) {
      simd().activate(from + begin, static_cast<int>(activation), to + begin, end - begin);
    });
    return;
  }
  const double* from = x.as<double>();
  double* to = y.as<double>();
  parallel_for(count, count * 20, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = activate_reference(from[i], activation);
  });
}

void add(ConstTensorView a, ConstTensorView b, TensorView y) {
  with_type(a.dtype(), [&]<typename T>(T) {
    const T* left = a.as<T>();
    const T* right = b.as<T>();
    T* to = y.as<T>();
    const std::int64_t count = a.count();
    parallel_for(count, count / 4, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = left[i] + right[i];
    });
  });
}

}  // namespace ditar::cpu
