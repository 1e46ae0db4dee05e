// What is to be split: the model's sizes and the shape of one request. Value types; thread-safe.
#pragma once

#include "ditar/topology/device_model.h"

#include <cstdint>
#include <string_view>

namespace ditar {

/// A DiT with adaLN-Zero blocks; the MLP is 4 times as wide as `hidden`.
struct ModelShape {
  std::int64_t hidden = 0, depth = 0, heads = 0, patch = 0;
  std::int64_t in_channels = 4, out_channels = 8, classes = 1000;

  std::int64_t head_size() const noexcept { return hidden / heads; }
  /// Weights of one block without its modulation layer: 12 D^2 + 9 D.
  std::int64_t block_parameters() const noexcept { return 12 * hidden * hidden + 9 * hidden; }
  /// The modulation layer of one block: 6 D^2 + 6 D.
  std::int64_t modulation_parameters() const noexcept { return 6 * hidden * hidden + 6 * hidden; }
  /// Everything outside the blocks: patch, timestep and label embedding, last layer.
  std::int64_t outer_parameters() const noexcept;
  std::int64_t parameters() const noexcept {
    return outer_parameters() + depth * (block_parameters() + modulation_parameters());
  }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// "DiT-S/2" ... "DiT-XL/8" (S, B, L, XL; patch 2, 4 or 8) as published.
/// @throws InvalidArgument for any other name.
ModelShape dit_model(std::string_view name);

struct LaneShape {
  std::int64_t images = 1;
  std::int64_t height = 32, width = 32;  ///< of the latents
  int steps = 50;
  double guidance = 4.0;  ///< 1: one branch only
  Arithmetic arithmetic = Arithmetic::kF16;

  int branches() const noexcept { return guidance == 1.0 ? 1 : 2; }
  friend bool operator==(const LaneShape&, const LaneShape&) = default;
};

/// Tokens of one image. @throws InvalidArgument if the patch does not divide the latents.
std::int64_t tokens_of(const ModelShape& model, const LaneShape& lane);

}  // namespace ditar
