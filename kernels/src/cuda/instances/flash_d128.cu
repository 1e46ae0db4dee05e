// Written by scripts/generate_attention.py.
#include "cuda/flash_attention.cuh"
#include "cuda/flash_instances.h"

namespace ditar::cuda {
void flash_attention_d128(DType dtype, AttentionTile tile, const AttentionLaunch& arguments,
                          cudaStream_t stream) {
  launch_flash_of_size<128, 32, 8, 1>(dtype, tile, arguments, stream);
}
}  // namespace ditar::cuda
