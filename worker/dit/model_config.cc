#include "model_config.h"

#include "ditar/config/error.h"

#include <array>

namespace ditar {
namespace {

struct PresetRow {
  std::string_view name;
  std::int64_t depth, hidden, heads;
};
constexpr std::array<PresetRow, 4> kPresets{
    {{"S", 12, 384, 6}, {"B", 12, 768, 12}, {"L", 24, 1024, 16}, {"XL", 28, 1152, 16}}};

void need(bool holds, const std::string& file, const std::string& fault) {
  if (!holds) throw DataError(file + ": " + fault);
}

}  // namespace

ModelConfig preset(std::string_view name, std::int64_t size) {
  for (const PresetRow& row : kPresets) {
    for (const std::int64_t patch : {2, 4, 8}) {
      if (name != "DiT-" + std::string(row.name) + "/" + std::to_string(patch)) continue;
      require(size > 0 && size % patch == 0, "latent size " + std::to_string(size) +
                                                 " is not a multiple of the patch size of " +
                                                 std::string(name));
      ModelConfig config;
      config.height = config.width = size;
      config.patch = patch;
      config.depth = row.depth;
      config.hidden = row.hidden;
      config.heads = row.heads;
      config.mlp_hidden = 4 * row.hidden;
      return config;
    }
  }
  throw InvalidArgument("model \"" + std::string(name) +
                        "\" is not known; give DiT-S, DiT-B, DiT-L or DiT-XL with /2, /4 or /8");
}

std::int64_t infer_heads(std::int64_t hidden, const std::string& file) {
  for (const PresetRow& row : kPresets) {
    if (row.hidden == hidden) return row.heads;
  }
  if (hidden >= 256 && hidden % 64 == 0) return hidden / 64;
  for (const std::int64_t head_dim : {72, 32}) {
    if (hidden % head_dim == 0) return hidden / head_dim;
  }
  throw DataError(file + ": the number of heads for hidden size " + std::to_string(hidden) +
                  " cannot be inferred; write it into the file's metadata as \"heads\"");
}

void check_config(const ModelConfig& c, const std::string& file) {
  need(c.channels > 0 && c.patch > 0 && c.hidden > 0 && c.depth > 0 && c.heads > 0 &&
           c.mlp_hidden > 0 && c.classes > 0 && c.height > 0 && c.width > 0,
       file, "a size of the model is not positive");
  need(c.height % c.patch == 0 && c.width % c.patch == 0, file,
       "the input of " + std::to_string(c.height) + "x" + std::to_string(c.width) +
           " is not a multiple of the patch size " + std::to_string(c.patch));
  need(c.hidden % c.heads == 0, file,
       "hidden size " + std::to_string(c.hidden) + " is not a multiple of " +
           std::to_string(c.heads) + " heads");
  need(c.hidden % 4 == 0, file,
       "hidden size " + std::to_string(c.hidden) + " is not a multiple of 4");
}

std::vector<TensorSpec> official_tensors(const ModelConfig& c) {
  const std::int64_t d = c.hidden;
  std::vector<TensorSpec> specs{{"x_embedder.proj.weight", {d, c.channels, c.patch, c.patch}},
                                {"x_embedder.proj.bias", {d}},
                                {"t_embedder.mlp.0.weight", {d, 256}},
                                {"t_embedder.mlp.0.bias", {d}},
                                {"t_embedder.mlp.2.weight", {d, d}},
                                {"t_embedder.mlp.2.bias", {d}},
                                {"y_embedder.embedding_table.weight", {c.classes + 1, d}}};
  for (std::int64_t i = 0; i < c.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    specs.push_back({block + "attn.qkv.weight", {3 * d, d}});
    specs.push_back({block + "attn.qkv.bias", {3 * d}});
    specs.push_back({block + "attn.proj.weight", {d, d}});
    specs.push_back({block + "attn.proj.bias", {d}});
    specs.push_back({block + "mlp.fc1.weight", {c.mlp_hidden, d}});
    specs.push_back({block + "mlp.fc1.bias", {c.mlp_hidden}});
    specs.push_back({block + "mlp.fc2.weight", {d, c.mlp_hidden}});
    specs.push_back({block + "mlp.fc2.bias", {d}});
    specs.push_back({block + "adaLN_modulation.1.weight", {6 * d, d}});
    specs.push_back({block + "adaLN_modulation.1.bias", {6 * d}});
  }
  specs.push_back({"final_layer.linear.weight", {c.out_values(), d}});
  specs.push_back({"final_layer.linear.bias", {c.out_values()}});
  specs.push_back({"final_layer.adaLN_modulation.1.weight", {2 * d, d}});
  specs.push_back({"final_layer.adaLN_modulation.1.bias", {2 * d}});
  return specs;
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t total = 0;
  for (const TensorSpec& spec : official_tensors(config)) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.shape) count *= size;
    total += count;
  }
  return total;
}

}  // namespace ditar
