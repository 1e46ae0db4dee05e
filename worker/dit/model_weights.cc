#include "model_weights.h"

#include "cut_weight.h"
#include "ditar/config/error.h"
#include "position_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ditar {
namespace {

/// Converts to the engine's dtype and takes tensors to its device.
/// What of a layer is in INT8: nothing, its stored weight, or its products whole.
enum class Rounding { kNone, kWeights, kProducts };

class WeightLoader {
 public:
  WeightLoader(const Checkpoint& checkpoint, DType dtype, StreamView stream, bool allow_tf32)
      : checkpoint_(checkpoint), dtype_(dtype), stream_(stream), allow_tf32_(allow_tf32) {}

  Linear linear(const std::string& name, Rounding rounding = Rounding::kNone,
                const MatrixCut& cut = {}) const {
    const std::vector<double> bias = checkpoint_.read(name + ".bias");
    const auto rows = static_cast<std::int64_t>(bias.size());
    if (const SafetensorsEntry* stored =
            rounding == Rounding::kWeights ? nullptr : direct(name + ".weight")) {
      if (cut.by == MatrixCut::By::kNothing)
        return pack(upload(*stored), bias, name, cut, rounding);
      const auto part = cut_matrix(stored->bytes, rows, size_of(stored->type), cut);
      return pack(
          upload(part, dtype_of(*stored), part_shape(part, rows, size_of(stored->type), cut)), bias,
          name, cut, rounding);
    }
    std::vector<double> weight = checkpoint_.read(name + ".weight");
    check_range(weight, name + ".weight");
    if (rounding == Rounding::kWeights) round_rows_to_int8(weight, rows);
    if (cut.by == MatrixCut::By::kNothing) {
      const Shape shape{rows, static_cast<std::int64_t>(weight.size()) / rows};
      return pack(place(weight, shape, name + ".weight"), bias, name, cut, rounding);
    }
    const auto part = cut_matrix(std::as_bytes(std::span(weight)), rows, sizeof(double), cut);
    const auto* begin = reinterpret_cast<const double*>(part.data());
    weight.assign(begin, begin + part.size() / sizeof(double));
    return pack(place(weight, part_shape(part, rows, sizeof(double), cut), name + ".weight"), bias,
                name, cut, rounding);
  }

  Tensor table(const std::string& name, std::int64_t width) const {
    if (const SafetensorsEntry* stored = direct(name)) {
      return upload(stored->bytes, dtype_of(*stored), Shape{stored->count() / width, width});
    }
    return table(checkpoint_.read(name), name, width);
  }
  Tensor table(const std::vector<double>& values, const std::string& name,
               std::int64_t width) const {
    return place(values, Shape{static_cast<std::int64_t>(values.size()) / width, width}, name);
  }

 private:
  // A tensor that a GPU can take as it is stored, or round itself without leaving the range: large
  // files then load at the speed of the copy. Null for all others.
  const SafetensorsEntry* direct(const std::string& name) const {
    const SafetensorsEntry* stored = checkpoint_.whole(name);
    if (stored == nullptr || stream_.device().type == DeviceType::kCpu) return nullptr;
    const bool in_range = stored->type == StoredType::kF16 ||
                          (stored->type == StoredType::kBF16 && dtype_ == DType::kF32);
    if (in_range || dtype_of(*stored) == dtype_) return stored;  // BF16's range holds all of FP16
    return stored->type == StoredType::kF32 && within_half(*stored) ? stored : nullptr;
  }
  static DType dtype_of(const SafetensorsEntry& stored) {
    if (stored.type == StoredType::kF16) return DType::kF16;
    if (stored.type == StoredType::kBF16) return DType::kBF16;
    return stored.type == StoredType::kF32 ? DType::kF32 : DType::kF64;
  }
  // Whether FP16 holds every value; values that are not finite are left to the slow path.
  static bool within_half(const SafetensorsEntry& stored) {
    bool within = true;
    for (std::size_t at = 0; at + 4 <= stored.bytes.size(); at += 4) {
      float value = 0.0F;
      std::memcpy(&value, stored.bytes.data() + at, sizeof(value));
      within &= std::abs(value) < 65504.0F;
    }
    return within;
  }

  static Shape part_shape(std::span<const std::byte> part, std::int64_t rows,
                          std::size_t element_bytes, const MatrixCut& cut) {
    const std::int64_t own = cut.by == MatrixCut::By::kRows ? rows / cut.parts : rows;
    return {own, static_cast<std::int64_t>(part.size() / element_bytes) / own};
  }

  Linear pack(const Tensor& weight, const std::vector<double>& bias, const std::string& name,
              const MatrixCut& cut, Rounding rounding) const {
    const std::vector<double> part = cut_bias(bias, cut);
    Tensor biases;
    if (!part.empty()) {
      biases = place(part, Shape{static_cast<std::int64_t>(part.size())}, name + ".bias");
    }
    const ConstTensorView bias_view = part.empty() ? ConstTensorView() : biases.view();
    Linear linear = rounding == Rounding::kProducts
                        ? Linear::int8(weight, bias_view, stream_)
                        : Linear(weight, bias_view, stream_, allow_tf32_);
    stream_.synchronize();
    return linear;
  }

  Tensor upload(const SafetensorsEntry& stored) const {
    const std::int64_t rows = stored.shape.front();
    return upload(stored.bytes, dtype_of(stored), Shape{rows, stored.count() / rows});
  }
  Tensor upload(std::span<const std::byte> bytes, DType stored, Shape shape) const {
    const ConstTensorView host(bytes.data(), shape, stored, Device{});
    Tensor moved(shape, host.dtype(), stream_.device());
    copy(host, moved, stream_);
    if (host.dtype() == dtype_) {
      stream_.synchronize();
      return moved;
    }
    Tensor rounded(shape, dtype_, stream_.device());
    convert(moved, rounded, stream_);
    stream_.synchronize();
    return rounded;
  }

  // The largest finite value decides: rounding is monotonic.
  void check_range(const std::vector<double>& values, const std::string& name) const {
    double top = 0.0;
    for (const double value : values) {
      if (std::isfinite(value)) top = std::max(top, std::abs(value));
    }
    Tensor wide(Shape{1}, DType::kF64, Device{});
    Tensor narrow(Shape{1}, dtype_, Device{});
    *wide.as<double>() = top;
    convert(wide, narrow, StreamView{});
    convert(narrow, wide, StreamView{});
    if (std::isfinite(*wide.as<double>())) return;
    throw DataError("tensor \"" + name + "\" holds a value too large for " +
                    std::string(to_string(dtype_)) +
                    "; run in a wider precision (fp64) or rescale the weights");
  }

  Tensor place(const std::vector<double>& values, Shape shape, const std::string& name) const {
    check_range(values, name);
    Tensor host(shape, dtype_, Device{});
    convert(ConstTensorView(values.data(), shape, DType::kF64, Device{}), host, StreamView{});
    if (stream_.device().type == DeviceType::kCpu) return host;
    Tensor moved(shape, dtype_, stream_.device());
    copy(host, moved, stream_);
    stream_.synchronize();
    return moved;
  }

  const Checkpoint& checkpoint_;
  DType dtype_;
  StreamView stream_;
  bool allow_tf32_;
};

std::vector<double> positions(const Checkpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config();
  return checkpoint.has("pos_embed") ? checkpoint.read("pos_embed")
                                     : position_table(c.hidden, c.grid_h(), c.grid_w());
}

std::int64_t bytes_of(const Linear& linear) {
  return static_cast<std::int64_t>(linear.packed_bytes());
}
std::int64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.view().size_bytes());
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

std::int64_t ModelWeights::size_bytes() const noexcept {
  std::int64_t total =
      bytes_of(patch) + bytes_of(final_modulation) + bytes_of(final_linear) + bytes_of(positions);
  for (const EmbedderWeights& e : embedders) {
    total += bytes_of(e.time_in) + bytes_of(e.time_out) + bytes_of(e.labels);
  }
  for (const BlockWeights& b : blocks) {
    total += bytes_of(b.qkv) + bytes_of(b.proj) + bytes_of(b.fc1) + bytes_of(b.fc2) +
             bytes_of(b.modulation);
  }
  return total;
}

ModelWeights load_weights(const Checkpoint& checkpoint, const Knobs& knobs, DType dtype,
                          StreamView stream, bool allow_tf32, std::optional<WeightShard> asked) {
  const WeightLoader loader(checkpoint, dtype, stream, allow_tf32);
  const ModelConfig& c = checkpoint.config();
  const WeightShard shard = asked.value_or(WeightShard{.layers = {0, c.depth}});
  std::vector<EmbedderWeights> embedders;
  const auto add_embedder = [&](std::int64_t block) {
    const std::string prefix = checkpoint.embedder_prefix(block);
    embedders.push_back(EmbedderWeights{
        loader.linear(prefix + "t_embedder.mlp.0"), loader.linear(prefix + "t_embedder.mlp.2"),
        loader.table(prefix + "y_embedder.embedding_table.weight", c.hidden)});
  };
  std::vector<BlockWeights> blocks;
  const auto cut = [&](MatrixCut::By by, std::int64_t stacked = 1) {
    return MatrixCut{shard.parts > 1 ? by : MatrixCut::By::kNothing, shard.part, shard.parts,
                     stacked};
  };
  const Rounding rounding = knobs.int8_products  ? Rounding::kProducts
                            : knobs.int8_weights ? Rounding::kWeights
                                                 : Rounding::kNone;
  for (std::int64_t i = shard.layers.begin; i < shard.layers.end; ++i) {
    if (checkpoint.embedder_per_block()) add_embedder(i);
    const std::string block = "blocks." + std::to_string(i) + ".";
    blocks.push_back(
        BlockWeights{loader.linear(block + "attn.qkv", rounding, cut(MatrixCut::By::kRows, 3)),
                     loader.linear(block + "attn.proj", rounding, cut(MatrixCut::By::kColumns)),
                     loader.linear(block + "mlp.fc1", rounding, cut(MatrixCut::By::kRows)),
                     loader.linear(block + "mlp.fc2", rounding, cut(MatrixCut::By::kColumns)),
                     loader.linear(block + "adaLN_modulation.1")});
  }
  if (embedders.empty() || shard.layers.begin > 0) add_embedder(0);
  const std::size_t final_embedder = shard.layers.begin > 0 ? embedders.size() - 1 : 0;
  return ModelWeights{c,
                      dtype,
                      stream.device(),
                      loader.linear("x_embedder.proj"),
                      loader.table(positions(checkpoint), "pos_embed", c.hidden),
                      std::move(embedders),
                      final_embedder,
                      std::move(blocks),
                      loader.linear("final_layer.adaLN_modulation.1"),
                      loader.linear("final_layer.linear"),
                      shard};
}

}  // namespace ditar
