// What a DiT is: sizes and the published presets. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

struct ModelConfig {
  std::int64_t channels = 4;  ///< of the latents
  std::int64_t height = 32;   ///< of the latents, in elements
  std::int64_t width = 32;
  std::int64_t patch = 2;
  std::int64_t hidden = 1152;
  std::int64_t depth = 28;
  std::int64_t heads = 16;
  std::int64_t mlp_hidden = 4608;
  std::int64_t classes = 1000;  ///< without the null class, whose index is `classes`
  bool learned_variance = true;
  double second_norm_eps = 1e-5;  ///< of the second norm in diffusers parity; official: 1e-6

  std::int64_t grid_h() const noexcept { return height / patch; }
  std::int64_t grid_w() const noexcept { return width / patch; }
  std::int64_t tokens() const noexcept { return grid_h() * grid_w(); }
  std::int64_t head_dim() const noexcept { return hidden / heads; }
  std::int64_t out_channels() const noexcept { return learned_variance ? 2 * channels : channels; }
  std::int64_t patch_values() const noexcept { return channels * patch * patch; }
  std::int64_t out_values() const noexcept { return out_channels() * patch * patch; }
};

/// "DiT-S/2" .. "DiT-XL/8": depth, hidden and heads of Peebles & Xie 2023, table 1, for 4-channel
/// latents of `size` x `size`, 1000 classes, learned variance.
/// @throws InvalidArgument for another name or a size that the patch does not divide.
ModelConfig preset(std::string_view name, std::int64_t size);

/// Heads of a file that does not name them: the published count for hidden 384, 768, 1024 and 1152;
/// else head_dim 64 if hidden >= 256 is a multiple of it, else 72, else 32, whichever divides.
/// @throws DataError asking for the metadata entry "heads" if none does.
std::int64_t infer_heads(std::int64_t hidden, const std::string& file);

/// @throws DataError naming `file` and the first size that does not fit the others.
void check_config(const ModelConfig& config, const std::string& file);

/// One tensor of the official layout.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};
/// Every tensor of the official layout in file order, without pos_embed.
std::vector<TensorSpec> official_tensors(const ModelConfig& config);
/// Trainable values (pos_embed is none of them).
std::int64_t parameter_count(const ModelConfig& config);

}  // namespace ditar
