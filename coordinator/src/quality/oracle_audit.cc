#include "ditar/coordinator/quality/oracle_audit.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/quality/scores.h"
#include "quality/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ditar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double log_ratio(double candidate, double parent, double floor) {
  if (!std::isfinite(candidate)) return kInfinity;
  if (!std::isfinite(parent)) return 0.0;
  return std::log(std::max(candidate, floor) / std::max(parent, floor));
}

/// Log ratios, item by item, as the mean over the item's timesteps: an item is one cluster.
std::vector<double> item_ratios(const ErrorTable& candidate, const ErrorTable& parent,
                                double floor) {
  std::vector<double> ratios(candidate.items, 0.0);
  for (std::size_t i = 0; i < candidate.items; ++i) {
    for (std::size_t k = 0; k < candidate.steps; ++k) {
      ratios[i] += log_ratio(candidate.at(i, k), parent.at(i, k), floor);
    }
    ratios[i] /= static_cast<double>(candidate.steps);
  }
  return ratios;
}

std::vector<double> column_ratios(const ErrorTable& candidate, const ErrorTable& parent,
                                  std::size_t step, double floor) {
  std::vector<double> ratios(candidate.items);
  for (std::size_t i = 0; i < candidate.items; ++i) {
    ratios[i] = log_ratio(candidate.at(i, step), parent.at(i, step), floor);
  }
  return ratios;
}

/// Upper (or lower) confidence bound of the mean by the cluster bootstrap.
double bound_of_mean(std::span<const double> values, double p, const AuditParams& params) {
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    return kInfinity;
  }
  return sorted_quantile(bootstrap_means(values, params.resamples, params.seed), p);
}

/// An admissible variant is exact by construction: a candidate may exceed the worst one's mean by
/// the limit, as it may exceed the parent's.
double widened_limit(const std::vector<ErrorTable>& variants, const ErrorTable& parent,
                     const AuditParams& params) {
  double worst = 0.0;
  for (const ErrorTable& variant : variants) {
    worst = std::max(worst, mean_of(item_ratios(variant, parent, params.error_floor)));
  }
  return params.ratio_limit + worst;
}

double worst_over_admissible(const ErrorTable& candidate, const ErrorTable& parent,
                             const std::vector<ErrorTable>& variants, double floor) {
  double worst = 0.0;
  for (std::size_t k = 0; k < candidate.steps; ++k) {
    double allowed = floor, seen = 0.0;
    for (std::size_t i = 0; i < candidate.items; ++i) {
      seen = std::max(seen, candidate.at(i, k));
      allowed = std::max(allowed, parent.at(i, k));
      for (const ErrorTable& variant : variants) allowed = std::max(allowed, variant.at(i, k));
    }
    worst = std::max(worst, seen / allowed);
  }
  return worst;
}

void check_shapes(const AuditInput& input) {
  const auto same = [](const ErrorTable& a, const ErrorTable& b) {
    return a.items == b.items && a.steps == b.steps && a.items * a.steps == a.values.size() &&
           b.values.size() == a.values.size();
  };
  require(same(input.candidate_steps, input.parent_steps) &&
              same(input.candidate_free, input.parent_free),
          "audit_class: candidate and parent were not measured on the same items");
  require(!input.candidate_steps.values.empty() && !input.candidate_free.values.empty(),
          "audit_class: there are no measured errors");
  for (const ErrorTable& v : input.variant_steps) {
    require(same(v, input.parent_steps), "audit_class: a variant has other single steps");
  }
  for (const ErrorTable& v : input.variant_free) {
    require(same(v, input.parent_free), "audit_class: a variant has other trajectories");
  }
}

void compare_with_parent(const AuditInput& in, const AuditParams& params, AuditResult& r) {
  const double floor = params.error_floor;
  const std::vector<double> steps = item_ratios(in.candidate_steps, in.parent_steps, floor);
  const std::vector<double> free = item_ratios(in.candidate_free, in.parent_free, floor);
  r.step_ratio = mean_of(steps);
  r.free_ratio = mean_of(free);
  r.step_ratio_upper = bound_of_mean(steps, 0.95, params);
  r.free_ratio_upper = bound_of_mean(free, 0.95, params);
  r.step_limit = widened_limit(in.variant_steps, in.parent_steps, params);
  r.free_limit = widened_limit(in.variant_free, in.parent_free, params);
  const double p = 0.05 / static_cast<double>(in.candidate_steps.steps);
  for (std::size_t k = 0; k < in.candidate_steps.steps; ++k) {
    const std::vector<double> column = column_ratios(in.candidate_steps, in.parent_steps, k, floor);
    r.ratio_by_step.push_back(mean_of(column));
    r.ratio_by_step_lower.push_back(bound_of_mean(column, p, params));
  }
  r.worst_over_admissible =
      std::max(worst_over_admissible(in.candidate_steps, in.parent_steps, in.variant_steps, floor),
               worst_over_admissible(in.candidate_free, in.parent_free, in.variant_free, floor));
}

/// Sentences against "exact"; empty if it holds.
std::vector<std::string> against_exact(const AuditInput& in, const AuditParams& params,
                                       const AuditResult& r) {
  std::vector<std::string> reasons;
  const auto ratio = [](double x) { return std::to_string(std::exp(x)); };
  if (!(r.step_ratio_upper <= r.step_limit)) {
    reasons.push_back("single-step oracle error is up to " + ratio(r.step_ratio_upper) +
                      " times the parent's (limit " + ratio(r.step_limit) + ")");
  }
  if (!(r.free_ratio_upper <= r.free_limit)) {
    reasons.push_back("free-running oracle error is up to " + ratio(r.free_ratio_upper) +
                      " times the parent's (limit " + ratio(r.free_limit) + ")");
  }
  for (std::size_t k = 0; k < r.ratio_by_step.size(); ++k) {
    double worst = 0.0;
    for (const ErrorTable& variant : in.variant_steps) {
      worst =
          std::max(worst, mean_of(column_ratios(variant, in.parent_steps, k, params.error_floor)));
    }
    const double limit = params.ratio_limit + worst;
    if (r.ratio_by_step_lower[k] <= limit) continue;
    reasons.push_back("oracle error of step " + std::to_string(k) + " is " +
                      ratio(r.ratio_by_step[k]) + " times the parent's (limit " + ratio(limit) +
                      ")");
    break;
  }
  if (!(r.worst_over_admissible <= params.worst_slack)) {
    reasons.push_back("the worst item's oracle error is " +
                      std::to_string(r.worst_over_admissible) +
                      " times the worst of the parent's admissible variants (limit " +
                      std::to_string(params.worst_slack) + ")");
  }
  return reasons;
}

std::vector<std::string> against_numerical(const AuditParams& params, const AuditResult& r) {
  std::vector<std::string> reasons;
  const double free_ceiling =
      params.free_ceiling > 0.0 ? params.free_ceiling : 10.0 * params.step_ceiling;
  if (!(r.worst_step_error <= params.step_ceiling)) {
    reasons.push_back("single-step oracle error " + std::to_string(r.worst_step_error) +
                      " exceeds the lane's ceiling " + std::to_string(params.step_ceiling));
  }
  if (!(r.mean_free_error <= free_ceiling)) {
    reasons.push_back("free-running oracle error " + std::to_string(r.mean_free_error) +
                      " exceeds the ceiling " + std::to_string(free_ceiling));
  }
  return reasons;
}

}  // namespace

std::vector<double> eps_from_x0(std::span<const float> x_t, std::span<const float> x0,
                                double alpha_bar) {
  require(alpha_bar > 0.0 && alpha_bar < 1.0, "eps_from_x0: alpha-bar must lie between 0 and 1");
  require(x_t.size() == x0.size(), "eps_from_x0: sizes differ");
  const double signal = std::sqrt(alpha_bar), noise = std::sqrt(1.0 - alpha_bar);
  std::vector<double> eps(x0.size());
  for (std::size_t i = 0; i < eps.size(); ++i) eps[i] = (x_t[i] - signal * x0[i]) / noise;
  return eps;
}

ErrorTable step_errors(std::span<const std::vector<float>> inputs,
                       std::span<const std::vector<float>> oracle,
                       std::span<const std::vector<float>> answers,
                       std::span<const double> alpha_bars) {
  const std::size_t steps = alpha_bars.size();
  require(steps > 0 && !inputs.empty() && inputs.size() % steps == 0 &&
              oracle.size() == inputs.size() && answers.size() == inputs.size(),
          "step_errors: inputs, oracle and answers are not items x steps tensors each");
  ErrorTable table{inputs.size() / steps, steps, std::vector<double>(inputs.size(), kInfinity)};
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const double alpha_bar = alpha_bars[n % steps];
    const std::vector<double> truth = eps_from_x0(inputs[n], oracle[n], alpha_bar);
    if (answers[n].size() != inputs[n].size()) continue;
    const std::vector<double> eps = eps_from_x0(inputs[n], answers[n], alpha_bar);
    double error = 0.0, norm = 0.0;
    for (std::size_t i = 0; i < eps.size(); ++i) {
      error += (eps[i] - truth[i]) * (eps[i] - truth[i]);
      norm += truth[i] * truth[i];
    }
    if (std::isfinite(error)) table.values[n] = error == 0.0 ? 0.0 : std::sqrt(error / norm);
  }
  return table;
}

ErrorTable free_errors(std::span<const std::vector<float>> oracle,
                       std::span<const std::vector<float>> finals) {
  require(!oracle.empty() && oracle.size() == finals.size(),
          "free_errors: one final of each item is needed");
  ErrorTable table{oracle.size(), 1, std::vector<double>(oracle.size(), kInfinity)};
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    if (finals[i].size() == oracle[i].size()) {
      table.values[i] = relative_l2_error(oracle[i], finals[i]);
    }
  }
  return table;
}

AuditResult audit_class(ChangeClass claimed, const AuditInput& input, const AuditParams& params) {
  check_shapes(input);
  require(params.error_floor > 0.0 && params.resamples >= 200,
          "audit_class: error_floor must be above 0 and resamples at least 200");
  AuditResult r;
  compare_with_parent(input, params, r);
  r.worst_step_error =
      *std::max_element(input.candidate_steps.values.begin(), input.candidate_steps.values.end());
  r.mean_free_error = mean_of(input.candidate_free.values);

  r.reasons = input.bits_equal ? std::vector<std::string>{} : against_exact(input, params, r);
  if (r.reasons.empty()) {
    r.shown = ChangeClass::kExact;
  } else {
    const std::vector<std::string> more = against_numerical(params, r);
    r.shown = more.empty() ? ChangeClass::kNumerical : ChangeClass::kApproximate;
    r.reasons.insert(r.reasons.end(), more.begin(), more.end());
  }
  // Outputs cannot tell quantization from approximation: either claim admits that much.
  r.claim_holds = claimed >= ChangeClass::kQuantization || claimed >= r.shown;
  return r;
}

}  // namespace ditar
