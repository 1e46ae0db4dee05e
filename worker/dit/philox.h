// Counter-based noise: Philox4x32-10 (Salmon et al. 2011) and Box-Muller in FP64. The same bits on
// every device and for every split of a request. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ditar {

/// One block of four 32-bit words.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept;

/// Standard normal noise of one image at one step, `out[e]` for element e = 0, 1, ... Key: the low
/// and high word of `seed`. Counter: (e / 4, step, low and high word of `image`). Words 0 and 1 of
/// a block give elements 4b and 4b + 1 (cos, sin), words 2 and 3 the next two; a word u stands for
/// (u + 0.5) / 2^32.
void fill_normal(std::uint64_t seed, std::uint64_t image, std::uint32_t step, std::span<float> out);

}  // namespace ditar
