// The project's one definition of random numbers: Philox4x32-10 (Salmon et al., SC 2011) as a pure
// function of key and counter, and normal noise drawn from it. Both programs include this header,
// so that the coordinator's initial noise and the engine's sampler noise cannot differ. Stateless;
// thread-safe; usable from device code through DITAR_PHILOX_FN.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__CUDACC__)
#define DITAR_PHILOX_FN __host__ __device__ inline
#else
#define DITAR_PHILOX_FN inline
#endif

namespace ditar {

struct PhiloxBlock {
  std::uint32_t v[4];
};

/// Ten rounds over `counter` under `key`: four words of uniform bits.
DITAR_PHILOX_FN PhiloxBlock philox4x32_10(PhiloxBlock counter, std::uint32_t key0,
                                          std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.v[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.v[2];
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32);
    counter = PhiloxBlock{{high1 ^ counter.v[1] ^ key0, static_cast<std::uint32_t>(product1),
                           high0 ^ counter.v[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Four standard normals (Box-Muller in FP64) for elements 4*block .. 4*block+3 of one image.
/// Key: the seed's low and high word. Counter: {block, step, image low word, image high word}.
/// Initial noise is step 0; the noise that sampler step k adds is step k + 1.
DITAR_PHILOX_FN void philox_normal4(std::uint64_t seed, std::uint64_t image, std::uint32_t step,
                                    std::uint32_t block, float out[4]) {
  const PhiloxBlock bits =
      philox4x32_10(PhiloxBlock{{block, step, static_cast<std::uint32_t>(image),
                                 static_cast<std::uint32_t>(image >> 32)}},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  constexpr double kScale = 1.0 / 4294967296.0;
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  for (int pair = 0; pair < 2; ++pair) {
    const double u = (static_cast<double>(bits.v[2 * pair]) + 0.5) * kScale;
    const double angle = kTwoPi * ((static_cast<double>(bits.v[2 * pair + 1]) + 0.5) * kScale);
    const double radius = std::sqrt(-2.0 * std::log(u));
    out[2 * pair] = static_cast<float>(radius * std::cos(angle));
    out[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

/// Fills `out` with the noise of one image at one step, element by element.
inline void philox_normal(std::uint64_t seed, std::uint64_t image, std::uint32_t step,
                          std::span<float> out) {
  for (std::size_t at = 0; at < out.size(); at += 4) {
    float four[4];
    philox_normal4(seed, image, step, static_cast<std::uint32_t>(at / 4), four);
    for (std::size_t j = 0; j < 4 && at + j < out.size(); ++j) out[at + j] = four[j];
  }
}

}  // namespace ditar
