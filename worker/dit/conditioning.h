// The modulations (adaLN) of many steps at once. They depend on timestep and label only, so all
// steps and labels of a request are rows of one GEMM per block; a step then only looks into the
// table. One thread at a time.
#pragma once

#include "arena.h"
#include "ditar/worker/engine.h"
#include "model_weights.h"

#include <span>
#include <vector>

namespace ditar {

class Conditioning {
 public:
  Conditioning(const ModelWeights& weights, Parity parity)
      : weights_(&weights), parity_(parity), arena_(weights.device) {}

  /// Plans for these timesteps and one row for each of `labels` (the null class is `classes`),
  /// allocates a table of at most `limit_bytes` (at least one step) and enqueues what the timesteps
  /// and labels alone give.
  void prepare(std::span<const std::int32_t> timesteps, std::span<const std::int32_t> labels,
               std::int64_t limit_bytes, StreamView stream);
  /// Makes the table hold step k; enqueues the part that begins there if it does not. No
  /// allocation.
  /// @return whether anything was enqueued.
  bool ensure(std::size_t k, StreamView stream);
  /// Makes the next ensure() enqueue its part anew.
  void forget() noexcept { first_ = held_ = 0; }
  /// Part `which` of 6 (shift, scale, gate, shift, scale, gate) of a block at a held step, (rows,
  /// D).
  ConstTensorView block(std::size_t block, std::size_t k, int which);
  /// Part `which` of 2 (shift, scale) of the final layer, (rows, D).
  ConstTensorView final_layer(std::size_t k, int which);
  std::int64_t size_bytes() const noexcept { return arena_.planned_bytes(); }

 private:
  void condition(std::size_t embedder, StreamView stream);
  TensorView rows_of(std::size_t slot, std::int64_t rows);
  ConstTensorView part(std::size_t slot, std::size_t k, std::int64_t which);

  const ModelWeights* weights_;
  Parity parity_;
  Arena arena_;
  std::int64_t timesteps_ = 0;
  std::int64_t rows_ = 0;             ///< images of the denoiser
  std::int64_t distinct_ = 0;         ///< rows of the table per step: 1 if all labels are one
  std::int64_t part_steps_ = 0;       ///< steps that the table has room for
  std::size_t first_ = 0, held_ = 0;  ///< steps [first_, first_ + held_) are in the table
  /// Slots of the arena. Rows of the table are label-major: row = label * held_ + (k - first_).
  std::size_t features_ = 0;         ///< (timesteps, 256)
  std::size_t time_hidden_ = 0;      ///< (part, D)
  std::size_t time_ = 0;             ///< (part, D)
  std::size_t condition_ = 0;        ///< (distinct * part, D), after SiLU
  std::size_t workspace_ = 0;        ///< of the linears
  std::size_t final_ = 0;            ///< (distinct * part, 2 D)
  std::vector<std::size_t> labels_;  ///< per embedder (distinct, D)
  std::vector<std::size_t> blocks_;  ///< each (distinct * part, 6 D)
};

}  // namespace ditar
