// The statistics of a speed decision: e-process, error spending over a campaign, exact tests and
// the effect with its interval. Pure functions; thread-safe. Sources: Ville's inequality; Xu and
// Ramdas, e-LOND (2024); Wang and Ramdas, e-BH (2022); Hodges and Lehmann (1963).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ditar {

/// ln Phi(z), exact in the far tail too.
double log_normal_cdf(double z);
/// ln Phi(z) + z^2/2, without the cancellation that the sum has far below 0.
double log_scaled_normal_cdf(double z);
/// x with P(chi^2_df <= x) = p. @throws InvalidArgument unless 0 < p < 1 and df > 0.
double chi_square_quantile(double p, double df);
/// P(X >= k), X ~ Binomial(n, p). 1 for k <= 0.
double binomial_upper_tail(int k, int n, double p);

/// ln E_n(S), half-normal mixture of Gaussian likelihood ratios of S, the sum of n values:
/// E = 2 sqrt(s^2/(s^2+n t^2)) exp(t^2 S^2/(2 s^2 (s^2+n t^2))) Phi(t S/(s sqrt(s^2+n t^2))).
/// @throws InvalidArgument unless n >= 0, sigma > 0 and tau > 0.
double log_e_value(double sum, int n, double sigma, double tau);

/// Level of the campaign's `index`th test (from 1) after `keeps` KEEPs:
/// alpha gamma_i (keeps + 1), gamma_i = 1/(2.1097 (i+1) ln^2(i+1)).
double e_lond_alpha(double alpha, int index, int keeps);

/// e-BH: indices (ascending) of the rejected hypotheses among the ln E values at FDR `alpha`.
std::vector<std::size_t> e_bh(std::span<const double> log_e_values, double alpha);

/// Exact one-sided sign-flip test: share of the 2^n sign patterns whose sum is at least the one
/// seen; 1 for n = 0. @throws InvalidArgument for n > 22 or a value that is not finite.
double sign_flip_p(std::span<const double> values);

struct HodgesLehmann {
  double estimate = 0.0;  ///< median of the Walsh averages (x_i + x_j)/2, i <= j
  double low = 0.0, high = 0.0;
  double confidence = 0.0;  ///< exact level of [low, high] under symmetry; 0: no interval at this n
};
/// Signed-rank interval of at least `confidence` where n allows, else the whole range of averages
/// with the level it has. @throws InvalidArgument if empty or not finite.
HodgesLehmann hodges_lehmann(std::span<const double> values, double confidence = 0.95);

}  // namespace ditar
