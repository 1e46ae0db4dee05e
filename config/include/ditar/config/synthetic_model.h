// A DiT checkpoint of the official layout made from a seed, where no trained one is at hand: for
// timing, memory and errors. Gates are not zero, products keep the variance of their inputs, and
// the last layer leans on the first, so that the predicted noise follows the latents as a trained
// model's does and a sampled trajectory neither dies nor grows without bound. The same bits on
// every machine: weights are small whole numbers times a scale, rounded to FP16. Stateless.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

struct SyntheticModel {
  std::int64_t hidden = 1152, depth = 28, heads = 16, patch = 2;
  std::int64_t channels = 4, height = 32, width = 32;  ///< of the latents
  std::int64_t classes = 1000;
  std::uint64_t seed = 0;
};

/// "dit-xl2-256", "dit-xl2-512".
const std::vector<std::string>& synthetic_presets();
/// @throws InvalidArgument naming the presets for another name.
SyntheticModel synthetic_preset(std::string_view name);

/// Writes the model as .safetensors in FP16, in one rename, by `threads` threads (0: as many as the
/// machine has). XL/2 takes seconds and 1.35 GB. Blocks. @return the file's SHA-256.
/// @throws InvalidArgument for sizes that do not fit each other, IoError if writing fails.
std::string write_synthetic_model(const SyntheticModel& model, const std::filesystem::path& path,
                                  int threads = 0);

}  // namespace ditar
