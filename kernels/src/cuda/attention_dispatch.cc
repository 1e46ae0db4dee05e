// Which kernel an attention runs on: tensor cores for 16-bit operands of the instanced head sizes
// with 16-byte rows, FP32 arithmetic for everything else.
#include "cuda_check.h"
#include "flash_instances.h"

namespace ditar::cuda {
namespace {

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// Every stride that is ever multiplied by more than 0 must keep rows on 16 bytes.
bool rows_aligned(const AttentionLaunch& a) {
  for (const std::int64_t stride :
       {a.q_image_stride, a.q_row_stride, a.q_head_stride, a.k_image_stride, a.k_row_stride,
        a.k_head_stride, a.v_image_stride, a.v_row_stride, a.v_head_stride, a.out_image_stride,
        a.out_row_stride, a.out_head_stride}) {
    if (stride % 8 != 0) return false;
  }
  return aligned(a.q) && aligned(a.k) && aligned(a.v) && aligned(a.out);
}

}  // namespace

bool launch_flash_attention(DType dtype, int head_size, AttentionTile tile,
                            const AttentionLaunch& arguments, cudaStream_t stream) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) return false;
  if (!rows_aligned(arguments)) return false;
  switch (head_size) {
    case 32:
      flash_attention_d32(dtype, tile, arguments, stream);
      return true;
    case 64:
      flash_attention_d64(dtype, tile, arguments, stream);
      return true;
    case 72:
      flash_attention_d72(dtype, tile, arguments, stream);
      return true;
    case 80:
      flash_attention_d80(dtype, tile, arguments, stream);
      return true;
    case 96:
      flash_attention_d96(dtype, tile, arguments, stream);
      return true;
    case 128:
      flash_attention_d128(dtype, tile, arguments, stream);
      return true;
    default:
      return false;
  }
}

}  // namespace ditar::cuda
