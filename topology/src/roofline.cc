#include "ditar/topology/roofline.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ditar {
namespace {

struct Tile {
  double m, n;
  double efficiency;  // relative to the largest: small tiles reload operands more often (assumed)
};

constexpr std::array<Tile, 7> kTiles{{{128, 256, 1.00},
                                      {128, 192, 0.99},
                                      {128, 128, 0.97},
                                      {128, 96, 0.93},
                                      {128, 64, 0.88},
                                      {64, 96, 0.82},
                                      {64, 64, 0.75}}};

double tiles_of(double extent, double tile) { return std::ceil(extent / tile); }

/// Seconds of a product whose K is cut in `parts`, at `flops` of the whole device.
double tiled_seconds(const DeviceModel& device, double flops, const Tile& tile, double m, double n,
                     double k, double parts) {
  const double count = tiles_of(m, tile.m) * tiles_of(n, tile.n) * parts;
  const double waves = std::ceil(count / device.sm_count);
  const double work = 2.0 * tile.m * tile.n * std::ceil(k / parts);
  const double rate = flops / device.sm_count * tile.efficiency;
  // Partial sums are written and read once more per part.
  const double extra = parts > 1 ? 2.0 * parts * m * n * 4.0 / (device.memory_gb_per_s * 3e9) : 0.0;
  return waves * work / rate + extra;
}

}  // namespace

double wave_efficiency(const DeviceModel& device, double m, double n) {
  double best = 0.0;
  for (const Tile& tile : kTiles) {
    const double slots =
        std::ceil(tiles_of(m, tile.m) * tiles_of(n, tile.n) / device.sm_count) * device.sm_count;
    best = std::max(best, m * n / (slots * tile.m * tile.n));
  }
  return best;
}

double gemm_seconds(const DeviceModel& device, Arithmetic arithmetic, double m, double n,
                    double k) {
  require(m >= 1 && n >= 1 && k >= 1, "a matrix product needs sizes of at least 1");
  const double flops = device.peak_flops(arithmetic) * device.matmul_efficiency;
  const double bytes = (m * k + k * n + m * n) * element_bytes(arithmetic);
  const double memory = bytes / (device.memory_gb_per_s * 1e9 * device.memory_efficiency);
  if (!device.gpu) return std::max(2.0 * m * n * k / flops, memory);
  double best = 1e30;
  for (const Tile& tile : kTiles) {
    for (const double parts : {1.0, 2.0, 4.0}) {
      best = std::min(best, tiled_seconds(device, flops, tile, m, n, k, parts));
    }
  }
  return std::max(best, memory);
}

double attention_seconds(const DeviceModel& device, Arithmetic arithmetic, double batch,
                         double heads, double queries, double keys, double head_size) {
  const double flops = device.peak_flops(arithmetic) * device.attention_efficiency;
  const double work = 4.0 * batch * heads * queries * keys * head_size;
  double filled = 1.0;
  if (device.gpu) {
    constexpr double kRows = 64.0;  // query rows of one block, two blocks per multiprocessor
    const double blocks = batch * heads * std::ceil(queries / kRows);
    const double slots = 2.0 * device.sm_count;
    filled = (batch * heads * queries / kRows) / (std::ceil(blocks / slots) * slots);
  }
  const double bytes =
      2.0 * batch * heads * (queries + keys) * head_size * element_bytes(arithmetic);
  return std::max(work / (flops * std::min(1.0, filled)),
                  bytes / (device.memory_gb_per_s * 1e9 * device.memory_efficiency));
}

double traffic_seconds(const DeviceModel& device, double bytes, double working_set_bytes) {
  const double cached = working_set_bytes <= 0.5e6 * device.cache_mb ? 3.0 : 1.0;
  return bytes / (cached * device.memory_gb_per_s * 1e9 * device.memory_efficiency);
}

}  // namespace ditar
