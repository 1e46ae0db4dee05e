#include "ditar/coordinator/verdict/calibration.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/decision.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "verdict/decision_text.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr int kLeastCalibrationBlocks = 8;
constexpr std::size_t kControlWindow = 20;
// Each of the three hurdles is passed with 0.95, so that all of them are with somewhat over 0.8.
constexpr double kQuantile95 = 1.6448536270;
constexpr double kEfficiency = 0.9549296586;  // of Hodges-Lehmann against the mean, 3/pi

double lag1_autocorrelation(std::span<const double> values, double mean) {
  double numerator = 0.0, denominator = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    denominator += (values[i] - mean) * (values[i] - mean);
    if (i > 0) numerator += (values[i] - mean) * (values[i - 1] - mean);
  }
  return denominator > 0.0 ? numerator / denominator : 0.0;
}

}  // namespace

Calibration calibrate(std::span<const double> block_values, const DecisionParams& params) {
  check(params);
  Calibration result;
  result.blocks = static_cast<int>(block_values.size());
  double sum = 0.0;
  for (const double value : block_values) {
    require(std::isfinite(value), "calibrate: a block value is not finite");
    sum += value;
  }
  if (result.blocks < kLeastCalibrationBlocks) {
    result.sigma0 = params.sigma_limit;
    result.reasons.push_back("only " + std::to_string(result.blocks) +
                             " valid A/A blocks; at least 8 are needed, run baseline again");
    return result;
  }
  const double n = result.blocks;
  result.mean = sum / n;
  double squares = 0.0;
  for (const double value : block_values) {
    squares += (value - result.mean) * (value - result.mean);
  }
  result.sd = std::sqrt(squares / (n - 1.0));
  const double bound = result.sd * std::sqrt((n - 1.0) / chi_square_quantile(0.10, n - 1.0));
  result.sigma0 = std::max(bound, params.sigma_floor);
  result.lag1 = lag1_autocorrelation(block_values, result.mean);
  if (std::abs(result.mean) > std::max(3.0 * result.sd / std::sqrt(n), params.sigma_floor)) {
    result.reasons.push_back("position bias: identical copies differ by " +
                             percent_text(result.mean) + ", over 3 standard errors");
  }
  if (result.lag1 > 0.5) {
    result.reasons.push_back("successive A/A blocks depend on each other (lag-1 autocorrelation " +
                             number_text(result.lag1) + ", limit 0.5)");
  }
  if (result.sigma0 > params.sigma_limit) {
    result.reasons.push_back("the machine is too noisy: block noise " +
                             percent_text(result.sigma0) + ", limit " +
                             percent_text(params.sigma_limit) + "; stop other work on it");
  }
  result.accepted = result.reasons.empty();
  return result;
}

double minimum_detectable_effect(double sigma0, const DecisionParams& params, int test_index,
                                 int keeps_before) {
  check(params);
  require(sigma0 > 0.0 && std::isfinite(sigma0),
          "minimum_detectable_effect: sigma0 must be above 0");
  const double tau = std::max(2.0 * sigma0, params.tau_floor);
  const double needed = -std::log(e_lond_alpha(params.alpha, test_index, keeps_before));
  const double screen_n = params.budget_blocks, confirm_n = params.confirm_blocks;
  double low = 0.0, high = 1.0;
  for (int i = 0; i < 60; ++i) {
    const double gain = 0.5 * (low + high);
    const double sum = screen_n * gain - kQuantile95 * sigma0 * std::sqrt(screen_n);
    (log_e_value(sum, params.budget_blocks, sigma0, tau) >= needed ? high : low) = gain;
  }
  // Confirming test: its normal approximation, level confirm_p; then the least effect itself.
  double z_low = 0.0, z_high = 40.0;
  for (int i = 0; i < 60; ++i) {
    const double z = 0.5 * (z_low + z_high);
    (log_normal_cdf(-z) <= std::log(params.confirm_p) ? z_high : z_low) = z;
  }
  const double standard_error = sigma0 / std::sqrt(confirm_n);
  const double least = std::max(params.min_effect, 0.5 * sigma0);
  return std::max({high, (z_high + kQuantile95) * standard_error,
                   least + kQuantile95 * standard_error / std::sqrt(kEfficiency)});
}

ControlAlarm control_alarm(std::span<const double> control_values, double sigma0) {
  require(sigma0 > 0.0 && std::isfinite(sigma0), "control_alarm: sigma0 must be above 0");
  ControlAlarm result;
  if (control_values.size() > kControlWindow) control_values = control_values.last(kControlWindow);
  result.blocks = static_cast<int>(control_values.size());
  if (result.blocks == 0) return result;
  for (const double value : control_values) {
    require(std::isfinite(value), "control_alarm: a control value is not finite");
    const double ratio = std::abs(value) / sigma0;
    result.chi_square += ratio * ratio;
    result.worst = std::max(result.worst, ratio);
  }
  result.limit = chi_square_quantile(0.999, result.blocks);
  result.alarm = result.chi_square > result.limit || result.worst > 5.0;
  return result;
}

}  // namespace ditar
