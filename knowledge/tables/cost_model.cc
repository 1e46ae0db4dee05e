#include "cost_model.h"

#include <algorithm>

namespace ditar::tables {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double conv_flop(int in, int out, int kernel, int side) {
  return 2.0 * kernel * kernel * in * out * static_cast<double>(side) * side;
}

double resnet_flop(int in, int out, int side) {
  const double shortcut = in == out ? 0.0 : conv_flop(in, out, 1, side);
  return conv_flop(in, out, 3, side) + conv_flop(out, out, 3, side) + shortcut;
}

}  // namespace

DitShape xl2(int image_px) {
  DitShape shape;
  shape.name = "XL/2";
  shape.depth = 28;
  shape.hidden = 1152;
  shape.heads = 16;
  shape.image_px = image_px;
  return shape;
}

std::int64_t adaln_parameters(const DitShape& s) {
  const std::int64_t d = s.hidden;
  return s.depth * (6 * d * d + 6 * d) + 2 * d * d + 2 * d;
}

std::int64_t parameters(const DitShape& s) {
  const std::int64_t d = s.hidden;
  const std::int64_t patch_in = static_cast<std::int64_t>(s.patch) * s.patch * s.in_channels;
  const std::int64_t patch_out = static_cast<std::int64_t>(s.patch) * s.patch * s.out_channels;
  const std::int64_t block =
      (3 * d * d + 3 * d) + (d * d + d) + (4 * d * d + 4 * d) + (4 * d * d + d);
  return patch_in * d + d                                // patch embedding
         + s.frequency_dim * d + d + d * d + d           // timestep MLP
         + static_cast<std::int64_t>(s.classes + 1) * d  // label table with the null class
         + s.depth * block + adaln_parameters(s)         //
         + d * patch_out + patch_out;                    // final linear
}

ForwardCost forward_cost(const DitShape& s, int samples) {
  const double t = s.tokens();
  const double d = s.hidden;
  const double patch_in = static_cast<double>(s.patch) * s.patch * s.in_channels;
  const double patch_out = static_cast<double>(s.patch) * s.patch * s.out_channels;
  ForwardCost cost;
  cost.linear_flop = samples * 2.0 * t * (s.depth * 12.0 * d * d + patch_in * d + patch_out * d);
  cost.attention_flop = samples * 2.0 * s.depth * 2.0 * t * t * d;
  cost.other_flop =
      samples * 2.0 * (s.depth * 6.0 * d * d + 2.0 * d * d + s.frequency_dim * d + d * d);
  return cost;
}

std::vector<Gemm> block_gemms(const DitShape& s, int samples) {
  const std::int64_t m = static_cast<std::int64_t>(samples) * s.tokens();
  const std::int64_t d = s.hidden;
  return {{"QKV", m, 3 * d, d}, {"proj", m, d, d}, {"fc1", m, 4 * d, d}, {"fc2", m, d, 4 * d}};
}

double wave_utilisation(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int sm_count,
                        int split_k) {
  const std::int64_t tiles = ceil_div(m, tile_m) * ceil_div(n, tile_n) * split_k;
  const std::int64_t waves = ceil_div(tiles, sm_count);
  const double useful = static_cast<double>(m) * static_cast<double>(n) * split_k;
  return useful / (static_cast<double>(waves * sm_count) * tile_m * tile_n);
}

SmLimits sm_86() { return {"sm_86", 1536, 16, 65536, 100 * 1024, 99 * 1024}; }
SmLimits sm_80() { return {"sm_80", 2048, 32, 65536, 164 * 1024, 163 * 1024}; }

int blocks_per_sm(const SmLimits& sm, int threads, int registers_per_thread, int shared_bytes) {
  if (shared_bytes > sm.shared_per_block || threads > 1024 || registers_per_thread > 255) return 0;
  const int warps = static_cast<int>(ceil_div(threads, 32));
  const int registers_per_warp = static_cast<int>(ceil_div(registers_per_thread * 32, 256)) * 256;
  // Registers are dealt out per quarter of the SM.
  const int warps_by_registers = sm.registers / 4 / registers_per_warp * 4;
  const int reserved = static_cast<int>(ceil_div(shared_bytes + 1024, 128)) * 128;
  return std::min(
      {sm.blocks, sm.threads / 32 / warps, warps_by_registers / warps, sm.shared_bytes / reserved});
}

double vae_decode_flop(int image_px) {
  const int latent = image_px / 8;
  double flop = conv_flop(4, 4, 1, latent) + conv_flop(4, 512, 3, latent);
  const double tokens = static_cast<double>(latent) * latent;
  flop += 2 * resnet_flop(512, 512, latent);
  flop += 4 * 2.0 * tokens * 512 * 512 + 2 * 2.0 * tokens * tokens * 512;  // middle attention
  const int out_channels[] = {512, 512, 256, 128};
  int channels = 512;
  int side = latent;
  for (int level = 0; level < 4; ++level) {
    for (int block = 0; block < 3; ++block) {
      flop += resnet_flop(channels, out_channels[level], side);
      channels = out_channels[level];
    }
    if (level < 3) {
      side *= 2;
      flop += conv_flop(channels, channels, 3, side);
    }
  }
  return flop + conv_flop(128, 3, 3, side);
}

SplitBytes split_bytes(const DitShape& s, int samples, int element_bytes) {
  const double activation = static_cast<double>(samples) * s.tokens() * s.hidden * element_bytes;
  const double latent_side = s.image_px / s.vae_factor;
  SplitBytes out;
  out.tensor = 2.0 * activation;       // two all-reduces of 2 (P-1)/P A each, P = 2
  out.ulysses = activation;            // four all-to-alls of (P-1)/P^2 A
  out.ring = activation;               // keys and values of the own half, once
  out.pipeline_per_step = activation;  // one stage boundary
  out.cfg_per_step = samples / 2.0 * latent_side * latent_side * s.in_channels * 4;  // FP32 noise
  return out;
}

}  // namespace ditar::tables
