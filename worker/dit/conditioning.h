// The modulations (adaLN) of many steps at once. They depend on timestep and label only, so all
// steps and distinct labels of a request are rows of one GEMM per block; a step then only points
// into the table. One thread at a time.
#pragma once

#include "ditar/worker/engine.h"
#include "model_weights.h"

#include <span>
#include <vector>

namespace ditar {

/// (values.size(), 256): [cos(t f) | sin(t f)], f_i = 10000^(-i / d), d = 128 (official) or 127
/// (diffusers); computed in FP64.
std::vector<double> timestep_features(std::span<const std::int32_t> timesteps, Parity parity);

template <typename T>
class Conditioning {
 public:
  Conditioning(const ModelWeights<T>& weights, Parity parity, int threads)
      : weights_(&weights), parity_(parity), threads_(threads) {}

  /// Plans for these timesteps and labels (distinct or not; the null class is `classes`) and
  /// allocates a table of at most `limit_bytes` (at least one step). Computes nothing.
  void prepare(std::vector<std::int32_t> timesteps, std::span<const std::int32_t> labels,
               std::int64_t limit_bytes);
  /// Makes the table hold step k; computes the part that begins there if it does not. No
  /// allocation.
  void ensure(std::size_t k);
  /// The 6 D values (shift, scale, gate, shift, scale, gate) of a block for a label at a held step.
  const T* block(std::size_t block, std::size_t k, std::int32_t label) const;
  /// The 2 D values (shift, scale) of the final layer.
  const T* final_layer(std::size_t k, std::int32_t label) const;
  std::int64_t size_bytes() const noexcept;

 private:
  std::size_t row(std::size_t k, std::int32_t label) const;
  void condition(const EmbedderWeights<T>& embedder, std::size_t first, std::size_t steps);

  const ModelWeights<T>* weights_;
  Parity parity_;
  int threads_;
  std::vector<std::int32_t> timesteps_;
  std::vector<std::int32_t> distinct_;  ///< sorted
  std::vector<std::int64_t> slot_of_;   ///< label -> position in distinct_, -1 if absent
  std::size_t part_steps_ = 0;          ///< steps that the table holds
  std::size_t first_ = 0, held_ = 0;    ///< steps [first_, first_ + held_) are in the table
  std::vector<T> features_;             ///< (timesteps, 256)
  std::vector<T> time_hidden_, time_;   ///< (part, D)
  std::vector<T> condition_;            ///< (part * labels, D), after SiLU
  std::vector<std::vector<T>> blocks_;  ///< each (part * labels, 6 D)
  std::vector<T> final_;                ///< (part * labels, 2 D)
};

}  // namespace ditar
