// A copy of the lane's weights in which one block differs: who computes from the weights that it is
// given answers otherwise, and as the original does. Stateless.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ditar {

struct ProbeModel {
  std::filesystem::path path;
  std::string changed;  ///< "blocks.3.mlp.fc1.weight"
};

/// Writes `model` once more below `folder` (replaced if there), with the two halves of the rows of
/// one block's first MLP product exchanged; `draw` chooses the block. Official or diffusers layout,
/// any dtype. Reads and writes the whole file. @throws DataError if there is no such tensor,
/// IoError.
ProbeModel write_probe_model(const std::filesystem::path& model,
                             const std::filesystem::path& folder, std::uint64_t draw);

}  // namespace ditar
