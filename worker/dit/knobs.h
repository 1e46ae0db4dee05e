// The engine's knobs: what an experiment may switch without touching code (config/engine.json).
// Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace ditar {

struct Knobs {
  /// Gate, residual, LayerNorm and modulation between two linears in one pass over the tokens.
  bool fuse_gate_norm = true;
  /// With guidance, embed the patches once for both branches.
  bool share_patch_embed = true;
  /// With guidance, run both branches as one batch; else one behind the other.
  bool batch_guidance = true;
  /// Upper bound on the table of all steps' modulations; longer schedules are computed in parts. 0:
  /// each step computes its own.
  std::int64_t modulation_table_mib = 256;
  /// On a GPU, record each step once per shape and schedule and launch it as one graph.
  bool graph_capture = true;
  /// On a GPU, file of the tuned GEMM algorithms; a table of another GPU or library is not used.
  /// Empty: the library's own choice.
  std::string gemm_table;
  /// Micro-batches of a pipeline split, at most one per row (image and branch). 0: 8 per stage.
  std::int64_t micro_batches = 0;
  /// Approximation of a pipeline split, 1 = off: every image goes through the stages in so many
  /// patches of its tokens, whose keys and values of the step before serve the patches that have
  /// not come yet (PipeFusion, arXiv 2405.14430). Not with a sequence split.
  std::int64_t stale_patches = 1;
  /// First steps that stale_patches leaves exact.
  std::int64_t stale_warmup_steps = 1;
  /// How the ranks share a request where nobody says so: a plan's text, or empty: data=N.
  std::string split;
  /// Approximation, 1 = off: the denoiser runs at every n-th step and its output is used again at
  /// the steps between.
  std::int64_t step_cache_interval = 1;
  /// Approximation, 1 = off: only every n-th timestep of the request is visited.
  std::int64_t step_stride = 1;
  /// Quantization, off: block weights are rounded to INT8 with one scale per output row.
  bool int8_weights = false;
  /// Quantization, off: the products of the block linears are computed in INT8 (W8A8), one scale
  /// per output row of the weight and one per token; includes what int8_weights does. CPU only.
  bool int8_products = false;
};

/// Defaults if `path` is empty. @throws IoError, ConfigError naming file, key and the nearest valid
/// one, or the range a value must lie in.
Knobs read_knobs(const std::string& path);
/// A flat JSON object with every knob, in the order above.
std::string to_json(const Knobs& knobs);

}  // namespace ditar
