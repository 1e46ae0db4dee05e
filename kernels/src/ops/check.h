// Checks of op arguments: each throws InvalidArgument with op, operand and axis. Internal;
// stateless.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

#include <string>

namespace ditar::check {

inline bool is_cpu_float(Device device, DType dtype) noexcept {
  return device.type == DeviceType::kCpu && (dtype == DType::kF32 || dtype == DType::kF64);
}

template <typename View>
bool is_cuda(const View& view) noexcept {
  return view.device().type == DeviceType::kCuda;
}

[[noreturn]] inline void fail(const char* op, const char* operand, const std::string& what) {
  throw InvalidArgument(std::string(op) + ": " + operand + " " + what);
}

/// Refuses dtypes and devices that no backend of this build serves.
inline void supported(bool yes, const char* op, Device device, DType dtype) {
  if (yes) return;
  throw InvalidArgument(std::string(op) + " is not supported for " + std::string(to_string(dtype)) +
                        " on " + to_string(device) +
                        "; use f32 or f64 on cpu, f32, f16 or bf16 on cuda");
}

template <typename View>
void alike(const char* op, const char* operand, const View& view, DType dtype, Device device) {
  if (view.dtype() != dtype) {
    fail(op, operand,
         "has dtype " + std::string(to_string(view.dtype())) + ", expected " +
             std::string(to_string(dtype)));
  }
  if (view.device() != device) {
    fail(op, operand, "is on " + to_string(view.device()) + ", expected " + to_string(device));
  }
}

template <typename View>
void shape(const char* op, const char* operand, const View& view, const Shape& expected) {
  if (view.shape() == expected) return;
  if (view.shape().rank() != expected.rank()) {
    fail(op, operand, "has shape " + to_string(view.shape()) + ", expected " + to_string(expected));
  }
  for (int axis = 0; axis < expected.rank(); ++axis) {
    if (view.size(axis) == expected[axis]) continue;
    fail(op, operand,
         "has size " + std::to_string(view.size(axis)) + " on axis " + std::to_string(axis) +
             ", expected " + std::to_string(expected[axis]));
  }
}

template <typename View>
void rank(const char* op, const char* operand, const View& view, int expected) {
  if (view.shape().rank() == expected) return;
  fail(op, operand,
       "has shape " + to_string(view.shape()) + ", expected " + std::to_string(expected) + " axes");
}

template <typename View>
void dense(const char* op, const char* operand, const View& view) {
  if (!view.is_dense()) fail(op, operand, "must be dense");
}

template <typename View>
void unit_last_stride(const char* op, const char* operand, const View& view) {
  if (view.stride(-1) != 1) fail(op, operand, "must have stride 1 on its last axis");
}

/// dtype, device, shape and density at once.
template <typename View>
void dense_like(const char* op, const char* operand, const View& view, const Shape& expected,
                DType dtype, Device device) {
  alike(op, operand, view, dtype, device);
  shape(op, operand, view, expected);
  dense(op, operand, view);
}

inline void stream(const char* op, StreamView stream, Device device) {
  if (stream.device().type != device.type || stream.device().index != device.index) {
    fail(op, "stream", "is of " + to_string(stream.device()) + ", expected " + to_string(device));
  }
}

}  // namespace ditar::check
