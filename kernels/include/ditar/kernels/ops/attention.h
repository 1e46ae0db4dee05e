// Softmax attention without mask, any head size and lengths. Stateless, thread-safe. Operands are
// 4-D views (B, S, H, D) with unit stride over D and any other strides: slices of a packed qkv
// tensor are read in place. A row of out depends on its q row and on all of k and v of its image
// and head alone: bits do not change with batch, threads, or the q rows beside it.
#pragma once

#include "ditar/kernels/stream.h"
#include "ditar/kernels/tensor.h"

namespace ditar {

bool supports_attention(Device device, DType dtype, std::int64_t head_size) noexcept;

/// Scratch bytes that attention() needs from this thread (it grows with cpu_threads()).
std::size_t attention_workspace_bytes(Device device, DType dtype, std::int64_t q_length,
                                      std::int64_t kv_length, std::int64_t head_size) noexcept;

/// out = softmax(scale q k^T) v, the row maximum subtracted first.
/// @param q    (B, S, H, D)    @param k, v (B, S', H, D)    @param out (B, S, H, D), no overlap
/// @param scale usually D^-0.5
/// @param log_sum_exp (B, H, S) dense, same dtype (f32 for 16-bit q), or empty: natural log of the
/// sum of exp(scale
///        q k^T) of each row, for attention_merge()
/// @param workspace u8, dense, 64-byte aligned, >= attention_workspace_bytes()
/// @throws InvalidArgument naming the operand and axis at fault.
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, TensorView workspace, StreamView stream);

/// Self-attention over packed projections, scale = D^-0.5.
/// @param qkv (B, T, 3, H, D) dense    @param out (B, T, H*D) dense
void attention_packed(ConstTensorView qkv, TensorView out, TensorView workspace, StreamView stream);

/// Merges the attention over one part of the keys into that over the others (ring step):
/// out = (e^lse out + e^part_lse part) / (e^lse + e^part_lse), lse = log of that sum.
/// @param part, out (B, S, H, D), unit stride over D  @param part_lse, lse (B, H, S) dense
void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out, TensorView lse,
                     StreamView stream);

}  // namespace ditar
