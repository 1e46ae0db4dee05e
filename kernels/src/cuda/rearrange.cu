// Strided copies on CUDA: one thread a 16-byte piece of a row where sizes, strides and pointers
// allow it, else an element; memory bound.
#include "element.cuh"

#include <cstdint>

namespace ditar::cuda {
namespace {

/// Rows of `a.sizes[3]` pieces of type T; strides in pieces.
template <typename T>
__global__ void rearrange_kernel(const RearrangeLaunch a) {
  const std::int64_t count = a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3];
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t i3 = i % a.sizes[3], row = i / a.sizes[3];
    const std::int64_t i2 = row % a.sizes[2], i1 = row / a.sizes[2] % a.sizes[1];
    const std::int64_t i0 = row / (a.sizes[2] * a.sizes[1]);
    static_cast<T*>(a.to)[i0 * a.to_strides[0] + i1 * a.to_strides[1] + i2 * a.to_strides[2] + i3] =
        static_cast<const T*>(
            a.from)[i0 * a.from_strides[0] + i1 * a.from_strides[1] + i2 * a.from_strides[2] + i3];
  }
}

template <typename T>
void launch(const RearrangeLaunch& a, cudaStream_t stream) {
  const std::int64_t count = a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3];
  rearrange_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(a);
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

}  // namespace

void launch_rearrange(int element_bytes, const RearrangeLaunch& arguments, cudaStream_t stream) {
  RearrangeLaunch wide = arguments;
  const std::int64_t pieces = 16 / element_bytes;
  bool fits = aligned(wide.from) && aligned(wide.to) && wide.sizes[3] % pieces == 0;
  wide.sizes[3] /= pieces;
  for (int axis = 0; axis < 3; ++axis) {
    fits = fits && wide.from_strides[axis] % pieces == 0 && wide.to_strides[axis] % pieces == 0;
    wide.from_strides[axis] /= pieces;
    wide.to_strides[axis] /= pieces;
  }
  if (fits) {
    launch<uint4>(wide, stream);
  } else if (element_bytes == 2) {
    launch<std::uint16_t>(arguments, stream);
  } else {
    launch<std::uint32_t>(arguments, stream);
  }
  check_launch("rearrange kernel");
}

}  // namespace ditar::cuda
