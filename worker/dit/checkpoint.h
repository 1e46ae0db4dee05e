// A model on disk, whatever its layout, seen under the official tensor names. Immutable; may be
// shared by threads. Holds its files mapped for as long as it lives.
#pragma once

#include "ditar/config/safetensors.h"
#include "model_config.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ditar {

/// One official tensor: its parts lie below each other on axis 0 (q, k and v of a diffusers file).
struct CheckpointTensor {
  std::vector<std::int64_t> shape;
  std::vector<const SafetensorsEntry*> parts;
};

class Checkpoint {
 public:
  /// A .safetensors file in the official layout, or a diffusers folder (the pipeline's folder or
  /// its transformer/). @throws IoError, ConfigError, DataError; missing, unexpected and
  /// wrongly shaped tensors are listed together.
  static Checkpoint open(const std::filesystem::path& path);

  const ModelConfig& config() const noexcept { return config_; }
  /// "official" or "diffusers".
  const std::string& layout() const noexcept { return layout_; }
  /// True if the blocks of a diffusers file carry embedders that differ; block i's tensors are then
  /// named "embedder.<i>.t_embedder..." and the final layer uses block 0's.
  bool embedder_per_block() const noexcept { return embedder_per_block_; }
  /// "" or "embedder.<i>.".
  std::string embedder_prefix(std::int64_t block) const;
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  /// Values in FP64 (every stored floating type is exact in it). @throws DataError if missing.
  std::vector<double> read(const std::string& name) const;
  /// The stored bytes, where the tensor lies in one piece; else null.
  const SafetensorsEntry* whole(const std::string& name) const noexcept;
  /// What a person should know about the choice of files; empty if there is nothing.
  const std::vector<std::string>& notices() const noexcept { return notices_; }

 private:
  friend class OfficialLayout;
  friend class DiffusersLayout;
  std::string name_;
  std::string layout_;
  ModelConfig config_;
  bool embedder_per_block_ = false;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::vector<std::string> notices_;
};

/// Compares the tensors found with those of `config`. @throws DataError listing what is missing,
/// unexpected or wrongly shaped (at most 8 of each), with the file's name.
void check_tensors(const std::map<std::string, CheckpointTensor>& found,
                   const std::vector<TensorSpec>& expected, const std::string& file);

}  // namespace ditar
