// Blocks of an exchange are as large as the largest rank's, so that token counts may differ by one.
#include "carve.h"
#include "ditar/config/error.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/rearrange.h"
#include "ditar/parallel/device_mesh.h"
#include "ditar/parallel/sequence_attention.h"

namespace ditar {

namespace {

class UlyssesAttention : public SequenceAttention {
 public:
  UlyssesAttention(Communicator& group, const AttentionShape& shape)
      : group_(group), shape_(shape), own_(tokens_of(group.rank())) {
    require(shape.heads % group.size() == 0,
            std::to_string(shape.heads) + " heads cannot be split over ulysses=" +
                std::to_string(group.size()) + "; choose a degree that divides them");
    require(group.size() <= shape.tokens, "ulysses=" + std::to_string(group.size()) +
                                              " leaves ranks idle: there are only " +
                                              std::to_string(shape.tokens) + " tokens");
  }

  std::size_t workspace_bytes(std::int64_t rows) const override {
    return lay_out(nullptr, rows).bytes;
  }

  void run(ConstTensorView qkv, TensorView out, TensorView workspace, StreamView stream) override {
    const std::int64_t rows = qkv.size(0);
    const Layout a = lay_out(workspace.data(), rows);
    const std::int64_t all = width(shape_.heads), part = width(heads());
    const std::int64_t own = rows * own_.count(), block = block_count(rows);
    for (int to = 0; to < group_.size(); ++to) {
      rearrange(window(qkv, to * part, {own, 3, part}, {3 * all, all, 1}),
                window(a.send, to * 3 * block, {own, 3, part}, {3 * part, part, 1}), stream);
    }
    group_.all_to_all(a.send.data(), a.recv.data(), 3 * block, shape_.dtype, stream);
    for (int from = 0; from < group_.size(); ++from) {
      const MeshRange tokens = tokens_of(from);
      move(a.recv, from * 3 * block, a.qkv, tokens, rows, 3 * part, stream);
    }
    attention_packed(a.qkv, a.out, a.scratch, stream);
    for (int to = 0; to < group_.size(); ++to) {
      const MeshRange tokens = tokens_of(to);
      const Shape shape{rows, tokens.count(), part};
      rearrange(window(ConstTensorView(a.out), tokens.begin * part, shape,
                       {shape_.tokens * part, part, 1}),
                window(a.send, to * block, shape, {tokens.count() * part, part, 1}), stream);
    }
    group_.all_to_all(a.send.data(), a.recv.data(), block, shape_.dtype, stream);
    for (int from = 0; from < group_.size(); ++from) {
      rearrange(window(ConstTensorView(a.recv), from * block, {own, part}, {part, 1}),
                window(out, from * part, {own, part}, {all, 1}), stream);
    }
  }

 private:
  struct Layout {
    TensorView send, recv;  ///< P blocks
    TensorView qkv;         ///< (rows, all tokens, 3, heads / P, head_size)
    TensorView out;         ///< (rows, all tokens, heads / P * head_size)
    TensorView scratch;     ///< of the attention
    std::size_t bytes = 0;
  };

  std::int64_t heads() const { return shape_.heads / group_.size(); }
  std::int64_t width(std::int64_t heads) const { return heads * shape_.head_size; }
  MeshRange tokens_of(int rank) const { return split_range(shape_.tokens, group_.size(), rank); }
  /// Elements of one of q, k, v or out that go to one rank at most.
  std::int64_t block_count(std::int64_t rows) const {
    return rows * tokens_of(0).count() * width(heads());
  }
  Layout lay_out(void* memory, std::int64_t rows) const {
    Carve carve(memory, shape_.device);
    const std::int64_t blocks = group_.size() * block_count(rows);
    Layout a;
    a.send = carve.take({3 * blocks}, shape_.dtype);
    a.recv = carve.take({3 * blocks}, shape_.dtype);
    a.qkv = carve.take({rows, shape_.tokens, 3, heads(), shape_.head_size}, shape_.dtype);
    a.out = carve.take({rows, shape_.tokens, width(heads())}, shape_.dtype);
    const std::size_t scratch = attention_workspace_bytes(
        shape_.device, shape_.dtype, shape_.tokens, shape_.tokens, shape_.head_size);
    a.scratch = carve.take({static_cast<std::int64_t>(scratch)}, DType::kU8);
    a.bytes = carve.bytes();
    return a;
  }
  /// A block of some rank's tokens to their place among all.
  void move(const TensorView& blocks, std::int64_t offset, const TensorView& all, MeshRange tokens,
            std::int64_t rows, std::int64_t row, StreamView stream) const {
    const Shape shape{rows, tokens.count(), row};
    rearrange(window(ConstTensorView(blocks), offset, shape, {tokens.count() * row, row, 1}),
              window(all, tokens.begin * row, shape, {shape_.tokens * row, row, 1}), stream);
  }

  Communicator& group_;
  const AttentionShape shape_;
  const MeshRange own_;
};

}  // namespace

std::unique_ptr<SequenceAttention> make_ulysses_attention(Communicator& group,
                                                          const AttentionShape& shape) {
  return std::make_unique<UlyssesAttention>(group, shape);
}

}  // namespace ditar
