// The model's weights on one device, in the form that the ops read. Immutable after loading; may be
// shared by threads. Move-only: the linears own their packed copies.
#pragma once

#include "checkpoint.h"
#include "ditar/kernels/ops/linear.h"
#include "knobs.h"

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
  std::vector<EmbedderWeights> embedders;
  std::vector<BlockWeights> blocks;
  Linear final_modulation, final_linear;
  std::int64_t size_bytes() const noexcept;
};

/// Converts everything to `dtype` on the host, takes it to the stream's device and packs it there;
/// waits until that is done. `allow_tf32` is that of Linear. @throws DataError naming a tensor of
/// which a finite value does not fit `dtype`.
ModelWeights load_weights(const Checkpoint& checkpoint, const Knobs& knobs, DType dtype,
                          StreamView stream, bool allow_tf32 = false);

/// Rounds each row of (rows, columns) to 255 symmetric levels of its own scale, in place: what INT8
/// storage with one scale per output row keeps.
void round_rows_to_int8(std::vector<double>& weight, std::int64_t rows);

}  // namespace ditar
