// The forward pass of DiT (Peebles & Xie 2023, section 3; layout of the published code) as a list
// of ops over a planned arena, on any device and dtype that the ops serve; of a model split over
// ranks, the part of one rank with its exchanges: tensor (Shoeybi et al. 2019, section 3: a sum
// after proj and fc2), sequence (attention alone exchanges) and pipeline (layers as stages, rows in
// micro-batches). Every rank gets the whole output. One thread at a time; the weights may be shared
// by ranks that hold the same part. CPU ops use cpu_threads() of the calling thread, which must be
// the same at prepare() and run().
#pragma once

#include "conditioning.h"
#include "ditar/parallel/rank_groups.h"
#include "ditar/parallel/sequence_attention.h"
#include "phase_clock.h"

#include <string>
#include <vector>

namespace ditar {

class Denoiser {
 public:
  /// `groups` must outlive it and fit the weights' shard; null for one rank.
  Denoiser(const ModelWeights& weights, Parity parity, const Knobs& knobs, StreamView stream,
           const RankGroups* groups = nullptr);

  /// Plans for `images` latents, with one output row for each of `labels` (labels.size() is images,
  /// or 2 * images: then row images + i is another condition of image i).
  void prepare(std::int64_t images, std::vector<std::int32_t> labels,
               std::vector<std::int32_t> timesteps);
  /// Enqueues x (images, C, H, W) at step k -> output (rows, out_channels, H, W), which stays valid
  /// until the next call. No allocation, no wait. With `check`, every layer's result is waited for
  /// and looked at: @throws Error naming the layer and the step that first is not finite.
  ConstTensorView run(ConstTensorView x, std::size_t k, PhaseClock& clock, bool check = false);

  /// Makes the next run() enqueue the modulations of its step anew.
  void forget_modulations() noexcept { conditioning_.forget(); }

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t workspace_bytes() const noexcept {
    return arena_.planned_bytes() + conditioning_.size_bytes();
  }

 private:
  enum Part { kShift1, kScale1, kGate1, kShift2, kScale2, kGate2 };
  /// Views of the arena. T: this rank's tokens of an image; H and mlp_hidden: its part of them.
  struct Activations {
    TensorView x, h, y;     ///< (rows, T, D)
    TensorView attended;    ///< (rows, T, H * head_dim), the memory of h
    TensorView qkv;         ///< (rows, T, 3, H, head_dim)
    TensorView mlp;         ///< (rows * T, mlp_hidden), the memory of qkv
    TensorView tokens_out;  ///< (rows * T, p p out_channels)
  };
  /// What goes through the blocks at once: some rows, whole or a patch of one row's tokens.
  struct MicroBatch {
    MeshRange rows, tokens;
  };
  /// The part of what holds all rows.
  Activations part_of(const Activations& all, const MicroBatch& part) const;
  std::size_t most_workspace() const;
  std::vector<MicroBatch> micro_batches() const;
  /// Whether patches attend to keys and values of the step before (an approximation).
  bool shares_stale() const noexcept;
  void keep_keys(std::size_t i);
  void attend_stale(std::size_t i);
  void embed(ConstTensorView x, PhaseClock& clock);
  void block(std::size_t i, PhaseClock& clock);
  void gate_norm(ConstTensorView gate, ConstTensorView shift, ConstTensorView scale, double eps,
                 PhaseClock& clock);
  void stage(PhaseClock& clock);
  void attend(std::size_t i, PhaseClock& clock);
  void sum_parts(PhaseClock& clock);
  void receive_rows(PhaseClock& clock);
  void send_rows(PhaseClock& clock);
  void assemble(PhaseClock& clock);
  void linear(ConstTensorView x, const Linear& layer, Activation activation, TensorView y,
              PhaseClock& clock);
  /// Tells of the op that comes, which takes about `flops`.
  void tick(const char* op, std::int64_t block, double flops = 0.0) const;
  void mark_linear(std::int64_t rows, const Linear& layer, PhaseClock& clock) const;
  ConstTensorView part(std::size_t block, Part which);
  TensorView flat(const TensorView& tokens) const;
  void look(ConstTensorView values, const std::string& layer) const;

  const ModelWeights* weights_;
  const ModelConfig config_;
  const double second_eps_;
  const Knobs knobs_;
  const RankGroups* groups_;
  const MeshRange tokens_;  ///< of an image, that this rank holds
  const StreamView stream_;
  std::unique_ptr<SequenceAttention> sequence_;  ///< null where a rank holds all tokens
  Stream transfers_;                             ///< of a pipeline
  Event computed_, transferred_;
  Conditioning conditioning_;
  Arena arena_;
  TensorView patches_;      ///< (images * all tokens, C p p)
  TensorView own_patches_;  ///< (images * T, C p p)
  TensorView gathered_;     ///< (ranks of the sequence, rows * most T, p p out_channels)
  TensorView all_tokens_;   ///< (rows * all tokens, p p out_channels)
  TensorView output_;       ///< (rows, out_channels, height, width)
  TensorView workspace_;    ///< of linears and attention
  TensorView kept_;         ///< (layers held, rows, T, 2 H head_dim) keys and values; mostly empty
  Activations all_;
  Activations a_;               ///< of what the blocks are running on
  std::int64_t first_row_ = 0;  ///< of a_
  std::int64_t first_token_ = 0;
  std::int64_t images_ = 0;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> timesteps_;
  std::size_t step_ = 0;
  bool check_ = false;
};

}  // namespace ditar
