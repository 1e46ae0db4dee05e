// Chooses the fused norm kernel: registers by width, or the scalar kernel for odd widths and
// strides.
#include "fused_norm.cuh"

namespace ditar::cuda {
namespace {

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

bool vector_path(const NormLaunch& a) {
  return a.width % kVector == 0 && a.width <= 8 * 256 && a.gate_stride % kVector == 0 &&
         a.shift_stride % kVector == 0 && a.scale_stride % kVector == 0 && aligned(a.x) &&
         aligned(a.x_out) && aligned(a.y) && aligned(a.gate) && aligned(a.shift) &&
         aligned(a.scale) && aligned(a.h);
}

template <typename T, typename R>
void launch(const NormLaunch& l, cudaStream_t stream) {
  const FusedNormArguments<T, R> a{static_cast<const R*>(l.x),
                                   static_cast<R*>(l.x_out),
                                   static_cast<const T*>(l.y),
                                   static_cast<const T*>(l.gate),
                                   static_cast<const T*>(l.shift),
                                   static_cast<const T*>(l.scale),
                                   static_cast<T*>(l.h),
                                   l.gate_stride,
                                   l.shift_stride,
                                   l.scale_stride,
                                   static_cast<int>(l.rows),
                                   static_cast<int>(l.rows_per_image),
                                   static_cast<int>(l.width),
                                   l.epsilon};
  const auto blocks =
      static_cast<unsigned int>((l.rows + kNormRowsPerBlock - 1) / kNormRowsPerBlock);
  const unsigned int threads = 32 * kNormRowsPerBlock;
  const std::int64_t steps = (l.width + 255) / 256;
  if (!vector_path(l)) {
    scalar_norm_kernel<T, R><<<blocks, threads, 0, stream>>>(a);
  } else if (steps == 1) {
    fused_norm_kernel<T, R, 1><<<blocks, threads, 0, stream>>>(a);
  } else if (steps == 2) {
    fused_norm_kernel<T, R, 2><<<blocks, threads, 0, stream>>>(a);
  } else if (steps == 3) {
    fused_norm_kernel<T, R, 3><<<blocks, threads, 0, stream>>>(a);
  } else if (steps <= 5) {
    fused_norm_kernel<T, R, 5><<<blocks, threads, 0, stream>>>(a);
  } else {
    fused_norm_kernel<T, R, 8><<<blocks, threads, 0, stream>>>(a);
  }
}

}  // namespace

void launch_norm(DType residual, DType dtype, const NormLaunch& arguments, cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    if (residual == dtype) {
      launch<T, T>(arguments, stream);
    } else {
      launch<T, float>(arguments, stream);
    }
  });
  check_launch("fused norm kernel");
}

}  // namespace ditar::cuda
