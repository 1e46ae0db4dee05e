#include "noise_schedule.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace ditar {
namespace {

std::int64_t parse_count(std::string_view text, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 1) {
    throw InvalidArgument("respacing \"" + std::string(whole) +
                          "\": give \"N\", \"ddimN\" or a list \"a,b,...\" of numbers >= 1");
  }
  return value;
}

std::vector<std::int32_t> ddim_stride(std::int64_t wanted, std::string_view whole) {
  for (std::int32_t stride = 1; stride < kTrainSteps; ++stride) {
    if ((kTrainSteps + stride - 1) / stride == wanted) {
      std::vector<std::int32_t> steps;
      for (std::int32_t t = 0; t < kTrainSteps; t += stride) steps.push_back(t);
      return steps;
    }
  }
  throw InvalidArgument("respacing \"" + std::string(whole) +
                        "\": no integer stride over 1000 gives " + std::to_string(wanted) +
                        " steps; take another number");
}

// nearbyint follows the rounding mode, which is to nearest even unless a caller changed it.
std::int32_t round_half_even(double value) {
  return static_cast<std::int32_t>(std::nearbyint(value));
}

std::vector<std::int64_t> split_counts(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    counts.push_back(parse_count(text.substr(begin, comma - begin), text));
    begin = comma + 1;
  }
  return counts;
}

}  // namespace

std::vector<double> linear_betas() {
  constexpr double kFirst = 1e-4;
  constexpr double kLast = 2e-2;
  constexpr double kStep = (kLast - kFirst) / (kTrainSteps - 1);
  std::vector<double> betas(kTrainSteps);
  for (std::int32_t t = 0; t < kTrainSteps; ++t) {
    betas[static_cast<std::size_t>(t)] = kFirst + kStep * t;
  }
  betas.back() = kLast;
  return betas;
}

std::vector<double> alpha_bars(const std::vector<double>& betas) {
  std::vector<double> out;
  out.reserve(betas.size());
  double product = 1.0;
  for (const double beta : betas) out.push_back(product *= 1.0 - beta);
  return out;
}

std::vector<std::int32_t> respaced_timesteps(std::string_view text) {
  if (text.starts_with("ddim")) return ddim_stride(parse_count(text.substr(4), text), text);
  const std::vector<std::int64_t> counts = split_counts(text);
  const auto sections = static_cast<std::int64_t>(counts.size());
  std::vector<std::int32_t> steps;
  std::int64_t start = 0;
  for (std::int64_t section = 0; section < sections; ++section) {
    const std::int64_t size = kTrainSteps / sections + (section < kTrainSteps % sections ? 1 : 0);
    const std::int64_t count = counts[static_cast<std::size_t>(section)];
    if (count > size) {
      throw InvalidArgument("respacing \"" + std::string(text) + "\": " + std::to_string(count) +
                            " steps do not fit a section of " + std::to_string(size) + " steps");
    }
    const double stride =
        count > 1 ? static_cast<double>(size - 1) / static_cast<double>(count - 1) : 1.0;
    double position = 0.0;  // added up, as the official code does: the rounding is part of it
    for (std::int64_t i = 0; i < count; ++i, position += stride) {
      steps.push_back(static_cast<std::int32_t>(start) + round_half_even(position));
    }
    start += size;
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

std::vector<std::int32_t> ddim_timesteps(std::int64_t steps) {
  require(steps >= 1 && steps <= kTrainSteps,
          "the number of steps is " + std::to_string(steps) + "; give 1 to 1000");
  std::vector<std::int32_t> out;
  if (steps == 1) return {kTrainSteps - 1};
  const double stride = static_cast<double>(kTrainSteps - 1) / static_cast<double>(steps - 1);
  for (std::int64_t i = steps - 1; i > 0; --i) {
    out.push_back(i == steps - 1 ? kTrainSteps - 1
                                 : round_half_even(stride * static_cast<double>(i)));
  }
  out.push_back(0);
  return out;
}

}  // namespace ditar
