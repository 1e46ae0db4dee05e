#include "quality/bootstrap.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t counter_bits(std::uint64_t seed, std::uint64_t counter) noexcept {
  return mix(mix(seed) ^ mix(counter + 0x632be59bd9b4e019ULL));
}

std::vector<std::size_t> resample_rows(std::size_t count, std::uint64_t seed, std::uint64_t draw) {
  require(count > 0, "bootstrap: there is nothing to resample");
  std::vector<std::size_t> rows(count);
  const std::uint64_t stream = counter_bits(seed, draw);
  for (std::size_t i = 0; i < count; ++i) {
    // 53 bits scaled to the count: the bias is below count / 2^53.
    const double unit = static_cast<double>(counter_bits(stream, i) >> 11) * 0x1p-53;
    rows[i] = std::min(count - 1, static_cast<std::size_t>(unit * static_cast<double>(count)));
  }
  return rows;
}

std::vector<double> bootstrap_means(std::span<const double> values, int resamples,
                                    std::uint64_t seed) {
  require(resamples > 0, "bootstrap: the number of resamples must be above 0");
  std::vector<double> means(static_cast<std::size_t>(resamples));
  for (std::size_t draw = 0; draw < means.size(); ++draw) {
    double sum = 0.0;
    for (const std::size_t row : resample_rows(values.size(), seed, draw)) sum += values[row];
    means[draw] = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return means;
}

double sorted_quantile(std::span<const double> ascending, double p) {
  require(!ascending.empty(), "bootstrap: no values");
  const double position = p * static_cast<double>(ascending.size() - 1);
  const double index = p < 0.5 ? std::floor(position) : std::ceil(position);
  return ascending[std::min(ascending.size() - 1, static_cast<std::size_t>(index))];
}

}  // namespace ditar
