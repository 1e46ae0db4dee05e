// The fixed sin-cos position table of DiT. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace ditar {

/// (grid_h * grid_w, hidden) row-major, FP64. Token (h, w) is row h * grid_w + w. The first half of
/// a row encodes w, the second h; each is [sin | cos] of position * 10000^(-i / (hidden / 4)).
/// A square base grid with scale 1 is assumed, as every published DiT has it.
/// @throws InvalidArgument if hidden is not a multiple of 4.
std::vector<double> position_table(std::int64_t hidden, std::int64_t grid_h, std::int64_t grid_w);

}  // namespace ditar
