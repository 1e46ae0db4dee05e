// FP64 scalar functions of the reference path, straight from libm. Internal; stateless.
#pragma once

#include "ditar/kernels/ops/activation.h"

#include <cmath>

namespace ditar::cpu {

inline double activate_reference(double x, Activation activation) {
  if (activation == Activation::kGeluTanh) {
    constexpr double kSqrt2OverPi = 0.79788456080286535587989211986876;
    return 0.5 * x * (1.0 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
  }
  if (activation == Activation::kSilu) return x / (1.0 + std::exp(-x));
  return x;
}

}  // namespace ditar::cpu
