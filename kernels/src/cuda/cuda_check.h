// Turns failed CUDA runtime and cuBLASLt calls into exceptions with the call, its place, the
// vendor's name of the code and the device. Host code; included by .cu and CUDA-only .cc files.
#pragma once

#include "ditar/config/error.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <source_location>
#include <string>

namespace ditar::cuda {

/// @throws OutOfMemory or CudaError unless `code` is success; clears the sticky error first.
inline void check(cudaError_t code, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  int device = -1;
  cudaGetDevice(&device);
  const std::string text = std::string(what) + " failed: " + cudaGetErrorName(code) + " (" +
                           cudaGetErrorString(code) + ") on cuda:" + std::to_string(device);
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(text, where);
  throw CudaError(text, where);
}

/// @throws CublasError unless `code` is success.
inline void check(cublasStatus_t code, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw CublasError(std::string(what) + " failed: " + cublasLtGetStatusName(code), where);
}

/// To be called after every kernel launch.
inline void check_launch(const char* kernel,
                         std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), kernel, where);
}

}  // namespace ditar::cuda
