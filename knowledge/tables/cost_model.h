// Arithmetic behind the handbook's computed tables: costs of a DiT, limits of a GPU, bytes of a
// split. Pure functions of their arguments; thread-safe. FLOPs count 2 per multiply-add.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ditar::tables {

struct DitShape {
  std::string name;
  int depth = 0;
  int hidden = 0;
  int heads = 0;
  int patch = 2;
  int classes = 1000;
  int in_channels = 4;
  int out_channels = 8;
  int image_px = 256;
  int vae_factor = 8;  ///< 1 for a pixel-space model
  int frequency_dim = 256;

  int tokens() const { return (image_px / vae_factor / patch) * (image_px / vae_factor / patch); }
};

DitShape xl2(int image_px);

/// Trainable parameters (the positional table is a buffer and not counted).
std::int64_t parameters(const DitShape& shape);
std::int64_t adaln_parameters(const DitShape& shape);

/// One forward of `samples` samples (guidance doubles them).
struct ForwardCost {
  double linear_flop = 0.0;     ///< per-token linear layers
  double attention_flop = 0.0;  ///< QK^T and PV
  double other_flop = 0.0;      ///< modulation, embeddings
  double total() const { return linear_flop + attention_flop + other_flop; }
};
ForwardCost forward_cost(const DitShape& shape, int samples);

struct Gemm {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  double flop() const { return 2.0 * static_cast<double>(m * n * k); }
  /// A, B and C once each.
  double bytes(int element_bytes) const {
    return static_cast<double>(element_bytes) * static_cast<double>(m * k + k * n + m * n);
  }
};
/// QKV, proj, fc1, fc2 of one block.
std::vector<Gemm> block_gemms(const DitShape& shape, int samples);

/// Share of SM slots that do useful work when `tiles_m x tiles_n` tiles run in waves of `sm_count`.
double wave_utilisation(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int sm_count,
                        int split_k = 1);

struct SmLimits {
  std::string name;
  int threads = 0;
  int blocks = 0;
  int registers = 65536;
  int shared_bytes = 0;
  int shared_per_block = 0;
};
SmLimits sm_86();
SmLimits sm_80();

/// Blocks per SM, 0 where a block does not launch. @param shared_bytes dynamic and static per
/// block.
int blocks_per_sm(const SmLimits& sm, int threads, int registers_per_thread, int shared_bytes);

/// Decoder of the 8x AutoencoderKL with channels 128, 256, 512, 512: one image.
double vae_decode_flop(int image_px);

/// Bytes that each of two GPUs sends per block (per step for the guidance split).
struct SplitBytes {
  double tensor = 0.0, ulysses = 0.0, ring = 0.0, pipeline_per_step = 0.0, cfg_per_step = 0.0;
};
SplitBytes split_bytes(const DitShape& shape, int samples, int element_bytes);

}  // namespace ditar::tables
