// The training noise schedule and the choice of timesteps, all in FP64. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ditar {

/// Number of training timesteps of every published DiT.
inline constexpr std::int32_t kTrainSteps = 1000;

/// beta_t = linspace(1e-4, 2e-2, 1000) (Peebles & Xie 2023, "linear").
std::vector<double> linear_betas();
/// Cumulative product of (1 - beta): alpha-bar_t, 1000 values.
std::vector<double> alpha_bars(const std::vector<double>& betas);

/// Timesteps of a respacing as the official code names it, ascending: "N" takes N steps from 0 to
/// 999 with a fractional stride rounded half to even; "ddimN" takes the integer stride that gives
/// exactly N steps from 0; "a,b,..." spaces each of equal sections apart.
/// @throws InvalidArgument if the text is not of these forms or cannot be reached.
std::vector<std::int32_t> respaced_timesteps(std::string_view text);
/// round(linspace(0, 999, steps)) half to even, descending; steps = 1 gives {999}.
/// @throws InvalidArgument unless 1 <= steps <= 1000.
std::vector<std::int32_t> ddim_timesteps(std::int64_t steps);

}  // namespace ditar
