// Norm, modulation and gated residual on the CPU, one token row at a time so that a row is still in
// the first-level cache for its second pass. Memory bound.
#include "ops/cpu_ops.h"
#include "parallel_for.h"
#include "simd_kernels.h"

#include <cmath>

namespace ditar::cpu {
namespace {

void gate_row(const double* y, const double* gate, double* x, std::int64_t d) {
  for (std::int64_t i = 0; i < d; ++i) x[i] += gate[i] * y[i];
}
void gate_row(const float* y, const float* gate, float* x, std::int64_t d) {
  simd().gate_row(y, gate, x, x, d);
}

void norm_row(const double* x, const double* shift, const double* scale, double eps, double* h,
              std::int64_t d) {
  double mean = 0.0;
  for (std::int64_t i = 0; i < d; ++i) mean += x[i];
  mean /= static_cast<double>(d);
  double variance = 0.0;
  for (std::int64_t i = 0; i < d; ++i) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<double>(d);
  const double inverse = 1.0 / std::sqrt(variance + eps);
  for (std::int64_t i = 0; i < d; ++i) {
    h[i] = (x[i] - mean) * inverse * (1.0 + scale[i]) + shift[i];
  }
}
void norm_row(const float* x, const float* shift, const float* scale, double eps, float* h,
              std::int64_t d) {
  simd().norm_row(x, shift, scale, static_cast<float>(eps), h, d);
}

template <typename T>
void rows(const NormArgs& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t tokens = a.x.size(1);
  const std::int64_t d = a.x.size(2);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t image = row / tokens;
    const T* x = a.x.as<T>() + row * d;
    if (!a.y.empty()) {
      gate_row(a.y.as<T>() + row * d, a.gate.as<T>() + image * a.gate.stride(0),
               a.x_out.as<T>() + row * d, d);
    }
    if (!a.h.empty()) {
      norm_row(x, a.shift.as<T>() + image * a.shift.stride(0),
               a.scale.as<T>() + image * a.scale.stride(0), a.eps, a.h.as<T>() + row * d, d);
    }
  }
}

}  // namespace

void norm(const NormArgs& args) {
  with_type(args.x.dtype(), [&]<typename T>(T) {
    parallel_for(args.x.size(0) * args.x.size(1), args.x.count(),
                 [&](std::int64_t begin, std::int64_t end, int) { rows<T>(args, begin, end); });
  });
}

}  // namespace ditar::cpu
