// Self-attention over tokens that are split over the ranks of a group: each rank holds a contiguous
// range of the tokens of every image (split_range) and gets the attention of its own tokens over
// all of them. Every rank makes the same calls. One thread at a time; the group must outlive it.
#pragma once

#include "ditar/kernels/tensor.h"
#include "ditar/parallel/communicator.h"

#include <cstdint>
#include <memory>

namespace ditar {

struct AttentionShape {
  std::int64_t tokens = 0;  ///< of a whole image
  std::int64_t heads = 0;   ///< that the ranks of the group share
  std::int64_t head_size = 0;
  DType dtype = DType::kF32;
  Device device;
};

class SequenceAttention {
 public:
  virtual ~SequenceAttention() = default;
  /// Scratch for run() with `rows` images, from this thread (it grows with cpu_threads()).
  virtual std::size_t workspace_bytes(std::int64_t rows) const = 0;
  /// out = softmax(q k^T / sqrt(head_size)) v over all ranks' tokens.
  /// @param qkv (rows, own tokens, 3, heads, head_size) dense
  /// @param out (rows, own tokens, heads * head_size) dense, no overlap with qkv
  /// @param workspace u8, 256-byte aligned, >= workspace_bytes(rows)
  virtual void run(ConstTensorView qkv, TensorView out, TensorView workspace,
                   StreamView stream) = 0;
};

/// Jacobs et al. 2023 (DeepSpeed-Ulysses): an all-to-all gives each rank all tokens of heads / P
/// heads, a second one gives the result back; two exchanges of 3 A / P and A / P elements for
/// A = own tokens * heads * head_size. Bits are those of one rank.
/// @throws InvalidArgument unless the group's size divides the heads and is at most the tokens.
std::unique_ptr<SequenceAttention> make_ulysses_attention(Communicator& group,
                                                          const AttentionShape& shape);

/// Liu et al. 2023 (ring attention): keys and values go round, P - 1 exchanges of 2 A elements
/// beside the attention over the part that is there; parts are merged by their log-sum-exp, so
/// sums are in another order than on one rank.
/// @throws InvalidArgument if the group is larger than the number of tokens.
std::unique_ptr<SequenceAttention> make_ring_attention(Communicator& group,
                                                       const AttentionShape& shape);

}  // namespace ditar
