// What the scripted engine computes, for tests that check its answers.
#pragma once

#include <cstdint>
#include <vector>

namespace ditar {

inline float expected_shift(std::int32_t timestep) {
  return static_cast<float>(timestep) / 1000.0F;
}

/// value * 0.5 + shift, once per timestep.
inline std::vector<float> expected_latents(std::vector<float> latents,
                                           const std::vector<std::int32_t>& timesteps) {
  for (const std::int32_t timestep : timesteps) {
    for (float& value : latents) value = value * 0.5F + expected_shift(timestep);
  }
  return latents;
}

}  // namespace ditar
