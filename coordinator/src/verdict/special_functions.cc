// The only file that sees Boost.Math, which is slow to compile.
#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/statistics.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>

#include <cmath>

namespace ditar {

double log_scaled_normal_cdf(double z) {
  if (std::isnan(z)) throw InvalidArgument("log_normal_cdf: the argument is not a number");
  if (z > 0.0) return 0.5 * z * z + std::log1p(-0.5 * std::erfc(z * M_SQRT1_2));
  if (z > -30.0) return 0.5 * z * z + std::log(0.5 * std::erfc(-z * M_SQRT1_2));
  // Mills' ratio; at z = -30 the first omitted term is below 2e-12.
  const double r = 1.0 / (z * z);
  const double series = r * (-1.0 + r * (3.0 + r * (-15.0 + r * 105.0)));
  return -std::log(-z) - 0.5 * std::log(2.0 * M_PI) + std::log1p(series);
}

double log_normal_cdf(double z) {
  if (z > 0.0) return std::log1p(-0.5 * std::erfc(z * M_SQRT1_2));
  return log_scaled_normal_cdf(z) - 0.5 * z * z;
}

double chi_square_quantile(double p, double df) {
  require(p > 0.0 && p < 1.0, "chi_square_quantile: p must lie between 0 and 1");
  require(df > 0.0 && std::isfinite(df), "chi_square_quantile: df must be above 0");
  return boost::math::quantile(boost::math::chi_squared_distribution<double>(df), p);
}

double binomial_upper_tail(int k, int n, double p) {
  require(n >= 0, "binomial_upper_tail: n must not be below 0");
  require(p >= 0.0 && p <= 1.0, "binomial_upper_tail: p must lie in 0..1");
  if (k <= 0) return 1.0;
  if (k > n) return 0.0;
  const boost::math::binomial_distribution<double> law(n, p);
  return boost::math::cdf(boost::math::complement(law, k - 1));
}

}  // namespace ditar
