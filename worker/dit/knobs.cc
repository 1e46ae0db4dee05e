#include "knobs.h"

#include "ditar/config/config_tree.h"
#include "ditar/config/error.h"

namespace ditar {
namespace {

void read_flag(const ConfigTree& tree, const char* key, bool& value) {
  if (const ConfigTree* found = tree.find(key)) value = found->as_bool();
}

void read_count(const ConfigTree& tree, const char* key, std::int64_t least, std::int64_t most,
                std::int64_t& value) {
  const ConfigTree* found = tree.find(key);
  if (found == nullptr) return;
  value = found->as_integer();
  if (value < least || value > most) {
    throw ConfigError(found->place() + " is " + std::to_string(value) + "; give " +
                      std::to_string(least) + " to " + std::to_string(most));
  }
}

std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

std::string text(bool value) { return value ? "true" : "false"; }

}  // namespace

Knobs read_knobs(const std::string& path) {
  Knobs knobs;
  if (path.empty()) return knobs;
  const ConfigTree tree = ConfigTree::read_file(path);
  tree.require_known({"fuse_gate_norm", "share_patch_embed", "batch_guidance",
                      "modulation_table_mib", "graph_capture", "gemm_table", "micro_batches",
                      "stale_patches", "stale_warmup_steps", "split", "step_cache_interval",
                      "step_stride", "int8_weights", "int8_products"});
  read_flag(tree, "fuse_gate_norm", knobs.fuse_gate_norm);
  read_flag(tree, "share_patch_embed", knobs.share_patch_embed);
  read_flag(tree, "batch_guidance", knobs.batch_guidance);
  read_count(tree, "modulation_table_mib", 0, 1 << 20, knobs.modulation_table_mib);
  read_flag(tree, "graph_capture", knobs.graph_capture);
  if (const ConfigTree* found = tree.find("gemm_table")) knobs.gemm_table = found->as_text();
  read_count(tree, "micro_batches", 0, 1024, knobs.micro_batches);
  read_count(tree, "stale_patches", 1, 1024, knobs.stale_patches);
  read_count(tree, "stale_warmup_steps", 1, 1000, knobs.stale_warmup_steps);
  if (const ConfigTree* found = tree.find("split")) knobs.split = found->as_text();
  read_count(tree, "step_cache_interval", 1, 1000, knobs.step_cache_interval);
  read_count(tree, "step_stride", 1, 1000, knobs.step_stride);
  read_flag(tree, "int8_weights", knobs.int8_weights);
  read_flag(tree, "int8_products", knobs.int8_products);
  return knobs;
}

std::string to_json(const Knobs& knobs) {
  return "{\"fuse_gate_norm\":" + text(knobs.fuse_gate_norm) +
         ",\"share_patch_embed\":" + text(knobs.share_patch_embed) +
         ",\"batch_guidance\":" + text(knobs.batch_guidance) +
         ",\"modulation_table_mib\":" + std::to_string(knobs.modulation_table_mib) +
         ",\"graph_capture\":" + text(knobs.graph_capture) + ",\"gemm_table\":\"" +
         escaped(knobs.gemm_table) + "\"" +
         ",\"micro_batches\":" + std::to_string(knobs.micro_batches) +
         ",\"stale_patches\":" + std::to_string(knobs.stale_patches) +
         ",\"stale_warmup_steps\":" + std::to_string(knobs.stale_warmup_steps) + ",\"split\":\"" +
         escaped(knobs.split) + "\"" +
         ",\"step_cache_interval\":" + std::to_string(knobs.step_cache_interval) +
         ",\"step_stride\":" + std::to_string(knobs.step_stride) +
         ",\"int8_weights\":" + text(knobs.int8_weights) +
         ",\"int8_products\":" + text(knobs.int8_products) + "}";
}

}  // namespace ditar
