// The weights of one rank on one device, in the form that the ops read: all of the model, or the
// layers and parts of layers that fall to the rank. Immutable after loading; may be shared by
// threads. Move-only: the linears own their packed copies.
#pragma once

#include "checkpoint.h"
#include "ditar/kernels/ops/linear.h"
#include "knobs.h"
#include "split_plan.h"

#include <optional>
#include <vector>

namespace ditar {

struct BlockWeights {
  Linear qkv, proj, fc1, fc2, modulation;
};

/// Turns timesteps and labels into conditions; one, or one per block (see Checkpoint).
struct EmbedderWeights {
  Linear time_in, time_out;
  Tensor labels;  ///< (classes + 1, D)
};

struct ModelWeights {
  ModelConfig config;
  DType dtype;
  Device device;
  Linear patch;
  Tensor positions;  ///< (T, D)
  /// One for all blocks; or one for each block that is held, and block 0's behind them where that
  /// block is not held (the final layer takes its condition).
  std::vector<EmbedderWeights> embedders;
  std::size_t final_embedder = 0;
  std::vector<BlockWeights> blocks;  ///< those of shard.layers
  Linear final_modulation, final_linear;
  WeightShard shard;
  std::int64_t heads() const noexcept { return config.heads / shard.parts; }
  std::int64_t mlp_hidden() const noexcept { return config.mlp_hidden / shard.parts; }
  std::int64_t size_bytes() const noexcept;
};

/// Converts everything to `dtype` on the host, takes it to the stream's device and packs it there;
/// waits until that is done. `allow_tf32` is that of Linear; without `shard` the whole model is
/// loaded. @throws DataError naming a tensor of which a finite value does not fit `dtype`.
ModelWeights load_weights(const Checkpoint& checkpoint, const Knobs& knobs, DType dtype,
                          StreamView stream, bool allow_tf32 = false,
                          std::optional<WeightShard> shard = std::nullopt);

/// Rounds each row of (rows, columns) to 255 symmetric levels of its own scale, in place: what INT8
/// storage with one scale per output row keeps.
void round_rows_to_int8(std::vector<double>& weight, std::int64_t rows);

}  // namespace ditar
