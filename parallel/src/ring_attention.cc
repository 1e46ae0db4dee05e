// Transfers run on a stream of their own, ordered by events, so that on a GPU the next part arrives
// while the attention over the present one runs.
#include "carve.h"
#include "ditar/config/error.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/rearrange.h"
#include "ditar/parallel/device_mesh.h"
#include "ditar/parallel/sequence_attention.h"

#include <array>
#include <cmath>

namespace ditar {

namespace {

class RingAttention : public SequenceAttention {
 public:
  RingAttention(Communicator& group, const AttentionShape& shape)
      : group_(group),
        shape_(shape),
        own_(tokens_of(group.rank())),
        transfers_(shape.device),
        ready_(shape.device),
        arrived_(shape.device) {
    require(group.size() <= shape.tokens, "ring=" + std::to_string(group.size()) +
                                              " leaves ranks idle: there are only " +
                                              std::to_string(shape.tokens) + " tokens");
  }

  std::size_t workspace_bytes(std::int64_t rows) const override {
    return lay_out(nullptr, rows).bytes;
  }

  void run(ConstTensorView qkv, TensorView out, TensorView workspace, StreamView stream) override {
    const std::int64_t rows = qkv.size(0), own = own_.count(), all = width();
    const Layout a = lay_out(workspace.data(), rows);
    rearrange(window(qkv, all, {rows * own, 2 * all}, {3 * all, 1}),
              window(a.kv[0], 0, {rows * own, 2 * all}, {2 * all, 1}), stream);
    const ConstTensorView q = window(qkv, 0, {rows, own, shape_.heads, shape_.head_size},
                                     {own * 3 * all, 3 * all, shape_.head_size, 1});
    const TensorView merged = out.reshape(q.shape());
    const int size = group_.size(), rank = group_.rank();
    for (int turn = 0; turn < size; ++turn) {
      const TensorView& here = a.kv[static_cast<std::size_t>(turn % 2)];
      const bool more = turn + 1 < size;
      // The buffer to fill was read by the turn before, which the stream holds already.
      if (more) pass_on(here, a.kv[static_cast<std::size_t>((turn + 1) % 2)], rows, stream);
      attend(q, here, tokens_of((rank - turn + size) % size).count(), turn == 0, merged, a, stream);
      if (more) arrived_.wait(stream);
    }
  }

 private:
  struct Layout {
    std::array<TensorView, 2> kv;  ///< (rows, a rank's tokens, 2, heads, head_size)
    TensorView part;               ///< (rows, own tokens, heads, head_size)
    TensorView lse, part_lse;      ///< (rows, heads, own tokens)
    TensorView scratch;            ///< of the attention
    std::size_t bytes = 0;
  };

  std::int64_t width() const { return shape_.heads * shape_.head_size; }
  MeshRange tokens_of(int rank) const { return split_range(shape_.tokens, group_.size(), rank); }

  Layout lay_out(void* memory, std::int64_t rows) const {
    Carve carve(memory, shape_.device);
    const DType sums = shape_.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    const std::int64_t most = tokens_of(0).count(), own = own_.count();
    Layout a;
    for (TensorView& kv : a.kv) kv = carve.take({rows * most * 2 * width()}, shape_.dtype);
    a.part = carve.take({rows, own, shape_.heads, shape_.head_size}, shape_.dtype);
    a.lse = carve.take({rows, shape_.heads, own}, sums);
    a.part_lse = carve.take({rows, shape_.heads, own}, sums);
    const std::size_t scratch =
        attention_workspace_bytes(shape_.device, shape_.dtype, own, most, shape_.head_size);
    a.scratch = carve.take({static_cast<std::int64_t>(scratch)}, DType::kU8);
    a.bytes = carve.bytes();
    return a;
  }

  void pass_on(const TensorView& here, const TensorView& next, std::int64_t rows,
               StreamView stream) {
    const int size = group_.size(), rank = group_.rank();
    ready_.record(stream);
    ready_.wait(transfers_);
    group_.send_recv(here.data(), (rank + 1) % size, next.data(), (rank - 1 + size) % size,
                     rows * tokens_of(0).count() * 2 * width(), shape_.dtype, transfers_);
    arrived_.record(transfers_);
  }

  void attend(const ConstTensorView& q, const TensorView& kv, std::int64_t tokens, bool first,
              const TensorView& merged, const Layout& a, StreamView stream) const {
    const Shape shape{q.size(0), tokens, shape_.heads, shape_.head_size};
    const Strides strides{tokens * 2 * width(), 2 * width(), shape_.head_size, 1};
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape_.head_size));
    attention(q, window(kv, 0, shape, strides), window(kv, width(), shape, strides), scale,
              first ? merged : a.part, first ? a.lse : a.part_lse, a.scratch, stream);
    if (!first) attention_merge(a.part, a.part_lse, merged, a.lse, stream);
  }

  Communicator& group_;
  const AttentionShape shape_;
  const MeshRange own_;
  Stream transfers_;
  Event ready_, arrived_;
};

}  // namespace

std::unique_ptr<SequenceAttention> make_ring_attention(Communicator& group,
                                                       const AttentionShape& shape) {
  return std::make_unique<RingAttention>(group, shape);
}

}  // namespace ditar
