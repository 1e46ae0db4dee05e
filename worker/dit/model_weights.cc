#include "model_weights.h"

#include "ditar/config/error.h"
#include "position_table.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

template <typename T>
std::vector<T> narrow(const std::vector<double>& values, const std::string& name) {
  std::vector<T> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<T>(values[i]);
    if (std::isfinite(values[i]) && !std::isfinite(out[i])) {
      throw DataError("tensor \"" + name +
                      "\" holds a value too large for FP32; run in fp64 or rescale the weights");
    }
  }
  return out;
}

template <typename T>
DenseLinear<T> load_linear(const Checkpoint& checkpoint, const std::string& name,
                           bool int8 = false) {
  std::vector<double> weight = checkpoint.read(name + ".weight");
  const std::vector<double> bias = checkpoint.read(name + ".bias");
  narrow<T>(weight, name + ".weight");
  narrow<T>(bias, name + ".bias");
  if (int8) round_rows_to_int8(weight, static_cast<std::int64_t>(bias.size()));
  return DenseLinear<T>(weight, bias);
}

template <typename T>
std::vector<T> load_positions(const Checkpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config();
  return narrow<T>(checkpoint.has("pos_embed") ? checkpoint.read("pos_embed")
                                               : position_table(c.hidden, c.grid_h(), c.grid_w()),
                   "pos_embed");
}

}  // namespace

void round_rows_to_int8(std::vector<double>& weight, std::int64_t rows) {
  const auto columns = static_cast<std::ptrdiff_t>(weight.size()) / rows;
  for (auto row = weight.begin(); row != weight.end(); row += columns) {
    double top = 0.0;
    for (auto it = row; it != row + columns; ++it) top = std::max(top, std::abs(*it));
    if (top == 0.0) continue;
    const double scale = top / 127.0;
    for (auto it = row; it != row + columns; ++it) *it = std::nearbyint(*it / scale) * scale;
  }
}

template <typename T>
DenseLinear<T>::DenseLinear(const std::vector<double>& weight, const std::vector<double>& bias)
    : out_(static_cast<std::int64_t>(bias.size())) {
  in_ = static_cast<std::int64_t>(weight.size()) / out_;
  const std::vector<T> values(weight.begin(), weight.end());
  const std::int64_t padded = panel_count<T>(out_) * kPanel<T>;
  panels_.resize(static_cast<std::size_t>(padded * in_));
  dense_ops<T>().pack(values.data(), out_, in_, panels_.data());
  bias_.assign(bias.begin(), bias.end());
  bias_.resize(static_cast<std::size_t>(padded), T(0));
}

template <typename T>
std::int64_t ModelWeights<T>::size_bytes() const noexcept {
  std::size_t total = patch.size_bytes() + final_modulation.size_bytes() +
                      final_linear.size_bytes() + positions.size() * sizeof(T);
  for (const EmbedderWeights<T>& e : embedders) {
    total += e.time_in.size_bytes() + e.time_out.size_bytes() + e.labels.size() * sizeof(T);
  }
  for (const BlockWeights<T>& b : blocks) {
    total += b.qkv.size_bytes() + b.proj.size_bytes() + b.fc1.size_bytes() + b.fc2.size_bytes() +
             b.modulation.size_bytes();
  }
  return static_cast<std::int64_t>(total);
}

template <typename T>
ModelWeights<T> load_weights(const Checkpoint& checkpoint, const Knobs& knobs) {
  ModelWeights<T> w;
  w.config = checkpoint.config();
  w.patch = load_linear<T>(checkpoint, "x_embedder.proj");
  w.positions = load_positions<T>(checkpoint);
  for (std::int64_t i = 0; i < (checkpoint.embedder_per_block() ? w.config.depth : 1); ++i) {
    const std::string prefix = checkpoint.embedder_prefix(i);
    const std::string table = prefix + "y_embedder.embedding_table.weight";
    w.embedders.push_back({load_linear<T>(checkpoint, prefix + "t_embedder.mlp.0"),
                           load_linear<T>(checkpoint, prefix + "t_embedder.mlp.2"),
                           narrow<T>(checkpoint.read(table), table)});
  }
  for (std::int64_t i = 0; i < w.config.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    w.blocks.push_back({load_linear<T>(checkpoint, block + "attn.qkv", knobs.int8_weights),
                        load_linear<T>(checkpoint, block + "attn.proj", knobs.int8_weights),
                        load_linear<T>(checkpoint, block + "mlp.fc1", knobs.int8_weights),
                        load_linear<T>(checkpoint, block + "mlp.fc2", knobs.int8_weights),
                        load_linear<T>(checkpoint, block + "adaLN_modulation.1")});
  }
  w.final_modulation = load_linear<T>(checkpoint, "final_layer.adaLN_modulation.1");
  w.final_linear = load_linear<T>(checkpoint, "final_layer.linear");
  return w;
}

template class DenseLinear<float>;
template class DenseLinear<double>;
template struct ModelWeights<float>;
template struct ModelWeights<double>;
template ModelWeights<float> load_weights<float>(const Checkpoint&, const Knobs&);
template ModelWeights<double> load_weights<double>(const Checkpoint&, const Knobs&);

}  // namespace ditar
