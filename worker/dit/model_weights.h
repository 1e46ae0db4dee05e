// The model's weights in the form that the operations read. Immutable after loading; may be shared
// by threads.
#pragma once

#include "checkpoint.h"
#include "dense_ops.h"
#include "knobs.h"

#include <vector>

namespace ditar {

/// One linear layer, packed.
template <typename T>
class DenseLinear {
 public:
  DenseLinear() = default;
  /// weight (out, in) and bias (out), row-major.
  DenseLinear(const std::vector<double>& weight, const std::vector<double>& bias);
  PackedWeights<T> packed() const noexcept { return {panels_.data(), bias_.data(), in_, out_}; }
  std::int64_t out() const noexcept { return out_; }
  std::size_t size_bytes() const noexcept { return (panels_.size() + bias_.size()) * sizeof(T); }

 private:
  std::vector<T> panels_;
  std::vector<T> bias_;
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
};

template <typename T>
struct BlockWeights {
  DenseLinear<T> qkv, proj, fc1, fc2, modulation;
};

/// Turns timesteps and labels into conditions; one, or one per block (see Checkpoint).
template <typename T>
struct EmbedderWeights {
  DenseLinear<T> time_in, time_out;
  std::vector<T> labels;  ///< (classes + 1, D)
};

template <typename T>
struct ModelWeights {
  ModelConfig config;
  DenseLinear<T> patch;
  std::vector<T> positions;  ///< (tokens, D)
  std::vector<EmbedderWeights<T>> embedders;
  std::vector<BlockWeights<T>> blocks;
  DenseLinear<T> final_modulation, final_linear;
  std::int64_t size_bytes() const noexcept;
};

/// Converts and packs everything. @throws DataError if a finite value does not fit T.
template <typename T>
ModelWeights<T> load_weights(const Checkpoint& checkpoint, const Knobs& knobs);

/// Rounds each row of (rows, columns) to 255 symmetric levels of its own scale, in place: what INT8
/// storage with one scale per output row keeps.
void round_rows_to_int8(std::vector<double>& weight, std::int64_t rows);

}  // namespace ditar
