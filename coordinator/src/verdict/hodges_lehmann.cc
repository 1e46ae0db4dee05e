#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "ditar/coordinator/verdict/timing_record.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

/// P(W <= k) of the signed-rank statistic for k = 0 .. n(n+1)/2 under symmetry, exact up to n where
/// doubles underflow (n > 1000, far beyond any use here).
std::vector<double> signed_rank_cdf(std::size_t n) {
  std::vector<double> mass(n * (n + 1) / 2 + 1, 0.0);
  mass[0] = 1.0;
  std::size_t top = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    top += rank;
    for (std::size_t w = top + 1; w-- > 0;) {
      mass[w] = 0.5 * (mass[w] + (w >= rank ? mass[w - rank] : 0.0));
    }
  }
  for (std::size_t w = 1; w < mass.size(); ++w) mass[w] += mass[w - 1];
  return mass;
}

}  // namespace

HodgesLehmann hodges_lehmann(std::span<const double> values, double confidence) {
  require(!values.empty(), "hodges_lehmann: no values");
  require(confidence > 0.0 && confidence < 1.0,
          "hodges_lehmann: confidence must lie between 0 and 1");
  std::vector<double> walsh;
  walsh.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]), "hodges_lehmann: a value is not finite");
    for (std::size_t j = i; j < values.size(); ++j) walsh.push_back(0.5 * (values[i] + values[j]));
  }
  std::sort(walsh.begin(), walsh.end());
  HodgesLehmann result;
  result.estimate = median(walsh);
  // The k-th smallest and k-th largest average hold the centre with level 1 - 2 P(W <= k-1).
  const std::vector<double> cdf = signed_rank_cdf(values.size());
  std::size_t k = 1;
  while (k < walsh.size() / 2 && 1.0 - 2.0 * cdf[k] >= confidence) ++k;
  result.low = walsh[k - 1];
  result.high = walsh[walsh.size() - k];
  result.confidence = std::max(0.0, 1.0 - 2.0 * cdf[k - 1]);
  return result;
}

}  // namespace ditar
