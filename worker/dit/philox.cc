#include "philox.h"

#include <cmath>
#include <numbers>

namespace ditar {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = kMultiplier0 * counter[0];
    const std::uint64_t b = kMultiplier1 * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

void fill_normal(std::uint64_t seed, std::uint64_t image, std::uint32_t step,
                 std::span<float> out) {
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                         static_cast<std::uint32_t>(seed >> 32)};
  constexpr double kScale = 1.0 / 4294967296.0;
  for (std::size_t base = 0; base < out.size(); base += 4) {
    const auto words =
        philox4x32({static_cast<std::uint32_t>(base / 4), step, static_cast<std::uint32_t>(image),
                    static_cast<std::uint32_t>(image >> 32)},
                   key);
    std::array<double, 4> normal{};
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      const double radius = std::sqrt(-2.0 * std::log((words[pair] + 0.5) * kScale));
      const double angle = 2.0 * std::numbers::pi * ((words[pair + 1] + 0.5) * kScale);
      normal[pair] = radius * std::cos(angle);
      normal[pair + 1] = radius * std::sin(angle);
    }
    for (std::size_t i = 0; i < 4 && base + i < out.size(); ++i) {
      out[base + i] = static_cast<float>(normal[i]);
    }
  }
}

}  // namespace ditar
