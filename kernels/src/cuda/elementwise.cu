// Pointwise kernels: one grid-stride loop each, FP32 arithmetic, memory bound.
#include "element.cuh"

namespace ditar::cuda {
namespace {

template <typename T>
__global__ void activate_kernel(const T* x, int activation, T* y, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    store1(y + i, activated(load1(x + i), activation));
  }
}

template <typename T>
__global__ void add_kernel(const T* a, const T* b, T* y, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    store1(y + i, load1(a + i) + load1(b + i));
  }
}

template <typename T>
__global__ void add_rows_kernel(const T* rows, std::int64_t block, T* x, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    store1(x + i, load1(x + i) + load1(rows + i % block));
  }
}

template <typename From, typename To>
__global__ void convert_kernel(const From* src, To* dst, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    store1(dst + i, load1(src + i));
  }
}

template <typename T>
__global__ void row_epilogue_kernel(const RowEpilogue a) {
  T* const y = static_cast<T*>(a.y);
  const T* const gate = static_cast<const T*>(a.gate);
  const T* const residual = static_cast<const T*>(a.residual);
  for (std::int64_t i = first_index(); i < a.rows * a.columns; i += index_step()) {
    const std::int64_t row = i / a.columns, column = i % a.columns;
    float value = activated(load1(y + row * a.y_stride + column), a.activation);
    if (gate != nullptr) value *= load1(gate + row / a.rows_per_image * a.gate_stride + column);
    if (residual != nullptr) value += load1(residual + i);
    store1(y + row * a.y_stride + column, value);
  }
}

}  // namespace

void launch_activate(DType dtype, const void* x, int activation, void* y, std::int64_t count,
                     cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    activate_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<const T*>(x), activation, static_cast<T*>(y), count);
  });
  check_launch("activate kernel");
}

void launch_add(DType dtype, const void* a, const void* b, void* y, std::int64_t count,
                cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    add_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(y), count);
  });
  check_launch("add kernel");
}

void launch_add_rows(DType dtype, const void* rows, std::int64_t block, void* x, std::int64_t count,
                     cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    add_rows_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<const T*>(rows), block, static_cast<T*>(x), count);
  });
  check_launch("add_rows kernel");
}

void launch_convert(DType from, const void* src, DType to, void* dst, std::int64_t count,
                    cudaStream_t stream) {
  with_element(from, [&]<typename From>(From*) {
    with_element(to, [&]<typename To>(To*) {
      convert_kernel<From, To><<<blocks_for(count), kThreads, 0, stream>>>(
          static_cast<const From*>(src), static_cast<To*>(dst), count);
    });
  });
  check_launch("convert kernel");
}

void launch_row_epilogue(DType dtype, const RowEpilogue& arguments, cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    row_epilogue_kernel<T>
        <<<blocks_for(arguments.rows * arguments.columns), kThreads, 0, stream>>>(arguments);
  });
  check_launch("row_epilogue kernel");
}

}  // namespace ditar::cuda
