// The tensor-core attention instances, one per head size; each lives in its own generated file
// under instances/. Thread-safe; enqueue on `stream`. Internal to kernels.
#pragma once

#include "launch.h"

namespace ditar::cuda {

#define DITAR_DECLARE_FLASH(SIZE)                                                                 \
  void flash_attention_d##SIZE(DType dtype, AttentionTile tile, const AttentionLaunch& arguments, \
                               cudaStream_t stream)
DITAR_DECLARE_FLASH(32);
DITAR_DECLARE_FLASH(64);
DITAR_DECLARE_FLASH(72);
DITAR_DECLARE_FLASH(80);
DITAR_DECLARE_FLASH(96);
DITAR_DECLARE_FLASH(128);
#undef DITAR_DECLARE_FLASH

}  // namespace ditar::cuda
