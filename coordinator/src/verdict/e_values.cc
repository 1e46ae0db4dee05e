#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace ditar {

double log_e_value(double sum, int n, double sigma, double tau) {
  require(n >= 0, "log_e_value: n must not be below 0");
  require(sigma > 0.0 && tau > 0.0, "log_e_value: sigma and tau must be above 0");
  require(std::isfinite(sum), "log_e_value: the sum is not finite");
  if (n == 0) return 0.0;
  // In units of sigma, so that no square can underflow or overflow for any sensible noise.
  const double s = sum / sigma;
  const double ratio = tau / sigma;
  const double spread = 1.0 + n * ratio * ratio;
  const double z = ratio * s / std::sqrt(spread);
  return std::log(2.0) - 0.5 * std::log(spread) + log_scaled_normal_cdf(z);
}

double e_lond_alpha(double alpha, int index, int keeps) {
  require(alpha > 0.0 && alpha < 1.0, "e_lond_alpha: alpha must lie between 0 and 1");
  require(index >= 1 && keeps >= 0 && keeps < index,
          "e_lond_alpha: index counts from 1 and exceeds the number of KEEPs before it");
  const double i1 = index + 1.0;
  const double log_i1 = std::log(i1);
  return alpha * (keeps + 1.0) / (2.1097 * i1 * log_i1 * log_i1);
}

std::vector<std::size_t> e_bh(std::span<const double> log_e_values, double alpha) {
  require(alpha > 0.0 && alpha < 1.0, "e_bh: alpha must lie between 0 and 1");
  const std::size_t m = log_e_values.size();
  std::vector<std::size_t> order(m);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const double e : log_e_values) require(!std::isnan(e), "e_bh: an e-value is not a number");
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return log_e_values[a] > log_e_values[b]; });
  std::size_t rejected = 0;
  for (std::size_t k = 1; k <= m; ++k) {
    const double needed = std::log(static_cast<double>(m) / (alpha * static_cast<double>(k)));
    if (log_e_values[order[k - 1]] >= needed) rejected = k;
  }
  order.resize(rejected);
  std::sort(order.begin(), order.end());
  return order;
}

double sign_flip_p(std::span<const double> values) {
  const int n = static_cast<int>(values.size());
  require(n <= 22, "sign_flip_p: at most 22 values; lower confirm_blocks");
  double scale = 0.0;
  for (const double x : values) {
    require(std::isfinite(x), "sign_flip_p: a value is not finite");
    scale += std::abs(x);
  }
  if (n == 0) return 1.0;
  // A pattern's sum reaches the one seen iff the values it flips sum to at most 0. Gray code
  // changes one sign at a time; the slack counts ties as ties in spite of rounding (p errs
  // upwards).
  const double slack = 1e-12 * scale;
  const std::uint64_t patterns = std::uint64_t{1} << n;
  std::uint64_t count = 1;  // nothing flipped
  std::uint64_t flipped = 0;
  double sum = 0.0;
  for (std::uint64_t i = 1; i < patterns; ++i) {
    const int bit = std::countr_zero(i);
    flipped ^= std::uint64_t{1} << bit;
    const double x = values[static_cast<std::size_t>(bit)];
    sum += (flipped >> bit & 1U) != 0U ? x : -x;
    if (sum <= slack) ++count;
  }
  return static_cast<double>(count) / static_cast<double>(patterns);
}

}  // namespace ditar
