// The noise floor of a machine from A/A blocks, the running A/A control, and the smallest gain that
// the procedure is likely to see. Pure functions of plain values; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ditar {

struct DecisionParams;

struct Calibration {
  int blocks = 0;
  double mean = 0.0;    ///< log ratio; the position bias
  double sd = 0.0;      ///< n - 1
  double sigma0 = 0.0;  ///< upper 90 % bound of sd, not below DecisionParams::sigma_floor
  double lag1 = 0.0;    ///< lag-1 autocorrelation
  bool accepted = false;
  std::vector<std::string> reasons;  ///< why not, one sentence each
};

/// sigma0 = sd sqrt((n-1)/chi2_{0.10, n-1}). Rejected: fewer than 8 values, |mean| > 3 sd/sqrt(n),
/// lag-1 autocorrelation > 0.5, sigma0 above `params.sigma_limit`.
/// @throws InvalidArgument if a value is not finite.
Calibration calibrate(std::span<const double> block_values, const DecisionParams& params);

/// Gain as a log ratio that is kept with a probability of about 0.8 as the campaign's
/// `test_index`th test: the largest of what screen, confirming test and least effect ask for.
/// Derived, not measured.
double minimum_detectable_effect(double sigma0, const DecisionParams& params, int test_index,
                                 int keeps_before);

struct ControlAlarm {
  bool alarm = false;
  int blocks = 0;           ///< of the window
  double chi_square = 0.0;  ///< sum c^2 / sigma0^2 over the window
  double limit = 0.0;       ///< 99.9 % quantile for `blocks` degrees of freedom
  double worst = 0.0;       ///< largest |c| / sigma0; above 5 is an alarm
};
/// Watches the last 20 of `control_values` (oldest first). @throws InvalidArgument if sigma0 <= 0.
ControlAlarm control_alarm(std::span<const double> control_values, double sigma0);

}  // namespace ditar
