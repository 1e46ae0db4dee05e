#include "checkpoint_layouts.h"
#include "ditar/config/error.h"
#include "position_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ditar {
namespace {

// The stored table is FP32 in published files; a BF16 or FP16 file rounds it by up to 2^-9.
constexpr double kFloatTableError = 1e-5;
constexpr double kHalfTableError = 4e-3;

std::int64_t metadata_number(const SafetensorsFile& file, const std::string& key) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end()) return 0;
  std::int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, fault] = std::from_chars(it->second.data(), end, value);
  if (fault != std::errc() || stop != end || value < 1) {
    throw DataError(file.path().string() + ": metadata \"" + key + "\" is \"" + it->second +
                    "\"; it must be a whole number >= 1");
  }
  return value;
}

const SafetensorsEntry& with_rank(const SafetensorsFile& file, const std::string& name,
                                  std::size_t rank) {
  const SafetensorsEntry& entry = file.at(name);
  if (entry.shape.size() != rank) {
    throw DataError(file.path().string() + ": tensor \"" + name + "\" has the shape " +
                    shape_text(entry.shape) + " where " + std::to_string(rank) +
                    " axes are needed");
  }
  return entry;
}

std::int64_t count_blocks(const SafetensorsFile& file) {
  std::int64_t depth = 0;
  while (file.find("blocks." + std::to_string(depth) + ".attn.qkv.weight") != nullptr) ++depth;
  return depth;
}

void infer_input(const SafetensorsFile& file, ModelConfig& config) {
  const std::string name = file.path().string();
  config.height = metadata_number(file, "height");
  config.width = metadata_number(file, "width");
  if ((config.height == 0) != (config.width == 0)) {
    throw DataError(name + ": the metadata gives only one of \"height\" and \"width\"; give both");
  }
  if (config.height != 0) return;
  if (file.find("pos_embed") == nullptr) {
    throw DataError(name +
                    ": without pos_embed the input size is unknown; write \"height\" and "
                    "\"width\" into the file's metadata");
  }
  const std::int64_t tokens = with_rank(file, "pos_embed", 3).shape[1];
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  if (side * side != tokens) {
    throw DataError(
        name + ": pos_embed has " + std::to_string(tokens) +
        " tokens, which is no square; write \"height\" and \"width\" into the metadata");
  }
  config.height = config.width = side * config.patch;
}

ModelConfig infer_config(const SafetensorsFile& file) {
  const std::string name = file.path().string();
  ModelConfig config;
  const SafetensorsEntry& proj = with_rank(file, "x_embedder.proj.weight", 4);
  config.hidden = proj.shape[0];
  config.channels = proj.shape[1];
  config.patch = proj.shape[2];
  if (config.patch < 1 || config.channels < 1 || config.hidden < 1 ||
      proj.shape[3] != config.patch) {
    throw DataError(name + ": x_embedder.proj.weight of shape " + shape_text(proj.shape) +
                    " is no patch embedding [hidden, channels, patch, patch]");
  }
  config.classes = with_rank(file, "y_embedder.embedding_table.weight", 2).shape[0] - 1;
  config.depth = count_blocks(file);
  if (config.depth == 0) {
    throw DataError(name +
                    ": there is no blocks.0.attn.qkv.weight; this is not a DiT in official "
                    "layout");
  }
  config.mlp_hidden = with_rank(file, "blocks.0.mlp.fc1.weight", 2).shape[0];
  config.heads = metadata_number(file, "heads");
  if (config.heads == 0) config.heads = infer_heads(config.hidden, name);
  const std::int64_t rows = with_rank(file, "final_layer.linear.weight", 2).shape[0];
  const std::int64_t per_channel = config.patch * config.patch * config.channels;
  if (rows != per_channel && rows != 2 * per_channel) {
    throw DataError(name + ": final_layer.linear has " + std::to_string(rows) + " rows; " +
                    std::to_string(per_channel) + " or " + std::to_string(2 * per_channel) +
                    " are needed (without or with learned variance)");
  }
  config.learned_variance = rows == 2 * per_channel;
  infer_input(file, config);
  check_config(config, name);
  return config;
}

void check_position_table(const SafetensorsFile& file, const ModelConfig& config) {
  const SafetensorsEntry* stored = file.find("pos_embed");
  if (stored == nullptr) return;
  const std::vector<std::int64_t> shape{1, config.tokens(), config.hidden};
  if (stored->shape != shape) {
    throw DataError(file.path().string() + ": pos_embed has the shape " +
                    shape_text(stored->shape) + " where an input of " +
                    std::to_string(config.height) + "x" + std::to_string(config.width) + " needs " +
                    shape_text(shape) + "; the file was made for another image size");
  }
  const std::vector<double> values = read_f64(*stored);
  const std::vector<double> table = position_table(config.hidden, config.grid_h(), config.grid_w());
  double worst = 0.0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    worst = std::max(worst, std::isnan(values[i]) ? INFINITY : std::abs(values[i] - table[i]));
  }
  const bool half = stored->type == StoredType::kF16 || stored->type == StoredType::kBF16;
  if (worst > (half ? kHalfTableError : kFloatTableError)) {
    throw DataError(
        file.path().string() + ": pos_embed differs from the sin-cos table of a " +
        std::to_string(config.grid_h()) + "x" + std::to_string(config.grid_w()) + " grid by " +
        std::to_string(worst) +
        "; the file is damaged or its grid is another (metadata \"height\", \"width\")");
  }
}

}  // namespace

Checkpoint OfficialLayout::open(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  checkpoint.name_ = path.string();
  checkpoint.layout_ = "official";
  checkpoint.files_.emplace_back(path);
  const SafetensorsFile& file = checkpoint.files_.front();
  checkpoint.config_ = infer_config(file);
  for (const SafetensorsEntry& entry : file.entries()) {
    checkpoint.tensors_[entry.name] = {entry.shape, {&entry}};
  }
  check_position_table(file, checkpoint.config_);
  std::vector<TensorSpec> expected = official_tensors(checkpoint.config_);
  if (const SafetensorsEntry* table = file.find("pos_embed")) {
    expected.push_back({"pos_embed", table->shape});
  }
  check_tensors(checkpoint.tensors_, expected, checkpoint.name_);
  return checkpoint;
}

}  // namespace ditar
