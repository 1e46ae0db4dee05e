#include "checkpoint_layouts.h"
#include "diffusers_files.h"
#include "ditar/config/config_tree.h"
#include "ditar/config/error.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ditar {
namespace {

using Found = std::map<std::string, const SafetensorsEntry*>;
using Renames = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::int64_t number(const ConfigTree& tree, const char* key, std::int64_t otherwise) {
  const ConfigTree* value = tree.find(key);
  if (value == nullptr || value->kind() == ConfigTree::Kind::kNull) return otherwise;
  return value->as_integer();
}

void need_text(const ConfigTree& tree, const char* key, const std::string& wanted) {
  const ConfigTree* value = tree.find(key);
  if (value != nullptr && value->as_text() != wanted) {
    throw DataError(value->place() + " is \"" + value->as_text() + "\"; only \"" + wanted +
                    "\" is a DiT");
  }
}

void need_flag(const ConfigTree& tree, const char* key, bool wanted) {
  const ConfigTree* value = tree.find(key);
  if (value != nullptr && value->as_bool() != wanted) {
    throw DataError(value->place() + " is " + (wanted ? "false" : "true") +
                    ", which no published DiT has");
  }
}

// Defaults are those of diffusers' own class for keys that a file leaves out.
ModelConfig read_config(const ConfigTree& tree) {
  need_text(tree, "norm_type", "ada_norm_zero");
  need_text(tree, "activation_fn", "gelu-approximate");
  need_flag(tree, "attention_bias", true);
  need_flag(tree, "norm_elementwise_affine", false);
  ModelConfig config;
  config.channels = number(tree, "in_channels", 4);
  config.height = config.width = number(tree, "sample_size", 32);
  config.patch = number(tree, "patch_size", 2);
  config.depth = number(tree, "num_layers", 28);
  config.heads = number(tree, "num_attention_heads", 16);
  config.hidden = config.heads * number(tree, "attention_head_dim", 72);
  config.mlp_hidden = 4 * config.hidden;
  config.classes = number(tree, "num_embeds_ada_norm", 1000);
  const std::int64_t out = number(tree, "out_channels", config.channels);
  if (out != config.channels && out != 2 * config.channels) {
    throw DataError(tree.place() + ": out_channels is " + std::to_string(out) + "; " +
                    std::to_string(config.channels) + " or " + std::to_string(2 * config.channels) +
                    " is needed");
  }
  config.learned_variance = out == 2 * config.channels;
  const ConfigTree* eps = tree.find("norm_eps");
  if (eps != nullptr) config.second_norm_eps = eps->as_real();
  check_config(config, tree.place());
  return config;
}

// Official name -> the names under one block (or the root) that make it up.
Renames block_names(std::int64_t index) {
  const std::string to = "blocks." + std::to_string(index) + ".";
  const std::string from = "transformer_blocks." + std::to_string(index) + ".";
  Renames names;
  for (const char* end : {"weight", "bias"}) {
    const std::string e = end;
    names.push_back({to + "adaLN_modulation.1." + e, {from + "norm1.linear." + e}});
    names.push_back(
        {to + "attn.qkv." + e,
         {from + "attn1.to_q." + e, from + "attn1.to_k." + e, from + "attn1.to_v." + e}});
    names.push_back({to + "attn.proj." + e, {from + "attn1.to_out.0." + e}});
    names.push_back({to + "mlp.fc1." + e, {from + "ff.net.0.proj." + e}});
    names.push_back({to + "mlp.fc2." + e, {from + "ff.net.2." + e}});
  }
  return names;
}

Renames embedder_names(std::int64_t index, const std::string& to) {
  const std::string from = "transformer_blocks." + std::to_string(index) + ".norm1.emb.";
  Renames names{
      {to + "y_embedder.embedding_table.weight", {from + "class_embedder.embedding_table.weight"}}};
  for (const char* end : {"weight", "bias"}) {
    const std::string e = end;
    names.push_back({to + "t_embedder.mlp.0." + e, {from + "timestep_embedder.linear_1." + e}});
    names.push_back({to + "t_embedder.mlp.2." + e, {from + "timestep_embedder.linear_2." + e}});
  }
  return names;
}

Renames root_names() {
  Renames names;
  for (const char* end : {"weight", "bias"}) {
    const std::string e = end;
    names.push_back({"x_embedder.proj." + e, {"pos_embed.proj." + e}});
    names.push_back({"final_layer.adaLN_modulation.1." + e, {"proj_out_1." + e}});
    names.push_back({"final_layer.linear." + e, {"proj_out_2." + e}});
  }
  return names;
}

// Moves the tensors named in `names` from `found` into `out`; absent ones are left for
// check_tensors.
void take(const Renames& names, Found& found, std::map<std::string, CheckpointTensor>& out) {
  for (const auto& [to, sources] : names) {
    CheckpointTensor tensor;
    for (const std::string& source : sources) {
      const auto it = found.find(source);
      if (it == found.end()) break;
      if (tensor.parts.empty()) {
        tensor.shape = it->second->shape;
      } else if (!tensor.shape.empty() && !it->second->shape.empty()) {
        tensor.shape[0] += it->second->shape[0];
      }
      tensor.parts.push_back(it->second);
    }
    if (tensor.parts.size() != sources.size()) continue;
    for (const std::string& source : sources) found.erase(source);
    out[to] = std::move(tensor);
  }
}

bool same_bits(const SafetensorsEntry& a, const SafetensorsEntry& b) {
  return a.type == b.type && a.shape == b.shape &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

bool embedders_differ(const Found& found, std::int64_t depth) {
  const Renames first = embedder_names(0, "");
  for (std::int64_t i = 1; i < depth; ++i) {
    const Renames other = embedder_names(i, "");
    for (std::size_t n = 0; n < first.size(); ++n) {
      const auto a = found.find(first[n].second[0]);
      const auto b = found.find(other[n].second[0]);
      if (a == found.end() || b == found.end()) continue;
      if (!same_bits(*a->second, *b->second)) return true;
    }
  }
  return false;
}

std::vector<TensorSpec> expected_tensors(const ModelConfig& config, bool per_block) {
  std::vector<TensorSpec> specs = official_tensors(config);
  if (!per_block) return specs;
  std::vector<TensorSpec> out;
  for (const TensorSpec& spec : specs) {
    const bool embedder =
        spec.name.starts_with("t_embedder") || spec.name.starts_with("y_embedder");
    if (!embedder) out.push_back(spec);
    for (std::int64_t i = 0; embedder && i < config.depth; ++i) {
      out.push_back({"embedder." + std::to_string(i) + "." + spec.name, spec.shape});
    }
  }
  return out;
}

}  // namespace

Checkpoint DiffusersLayout::open(const std::filesystem::path& path) {
  DiffusersFiles files = find_diffusers_files(path);
  Checkpoint checkpoint;
  checkpoint.name_ = files.folder.string();
  checkpoint.layout_ = "diffusers";
  checkpoint.notices_ = std::move(files.notices);
  checkpoint.config_ = read_config(ConfigTree::read_file(files.folder / "config.json"));
  const std::int64_t depth = checkpoint.config_.depth;
  checkpoint.files_.reserve(files.weights.size());
  Found found;
  for (const auto& file : files.weights) {
    checkpoint.files_.emplace_back(file);
    for (const SafetensorsEntry& entry : checkpoint.files_.back().entries()) {
      if (!found.emplace(entry.name, &entry).second) {
        throw DataError(file.string() + ": tensor \"" + entry.name +
                        "\" is in another shard too; fetch the folder again");
      }
    }
  }
  checkpoint.embedder_per_block_ = embedders_differ(found, depth);
  take(root_names(), found, checkpoint.tensors_);
  for (std::int64_t i = 0; i < depth; ++i) {
    take(block_names(i), found, checkpoint.tensors_);
    const std::string prefix = checkpoint.embedder_prefix(i);
    if (checkpoint.embedder_per_block_ || i == 0) {
      take(embedder_names(i, prefix), found, checkpoint.tensors_);
    } else {  // a bit-identical copy: all its parts must be there, and none is kept
      std::map<std::string, CheckpointTensor> copies;
      take(embedder_names(i, ""), found, copies);
      if (copies.size() != embedder_names(i, "").size()) {
        throw DataError(checkpoint.name_ + ": transformer_blocks." + std::to_string(i) +
                        ".norm1.emb is incomplete; fetch the folder again");
      }
    }
  }
  for (const auto& [name, entry] : found) checkpoint.tensors_[name] = {entry->shape, {entry}};
  check_tensors(checkpoint.tensors_,
                expected_tensors(checkpoint.config_, checkpoint.embedder_per_block_),
                checkpoint.name_);
  return checkpoint;
}

}  // namespace ditar
