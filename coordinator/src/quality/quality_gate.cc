#include "ditar/coordinator/quality/quality_gate.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/quality/scores.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "quality/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ditar {
namespace {

bool is_strict(ChangeClass value) { return value <= ChangeClass::kNumerical; }

double worsening(const ScoreRule& rule, double original, double candidate) {
  const double w = rule.higher_is_better ? original - candidate : candidate - original;
  return std::isnan(w) ? std::numeric_limits<double>::infinity() : w;
}

void check_fidelity(const GateInput& in, const GateParams& params, GateResult& r) {
  require(in.original_images.size() == in.candidate_images.size(),
          "quality gate: original and candidate images do not pair up");
  if (in.original_images.empty()) return;
  r.least_psnr = std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (std::size_t i = 0; i < in.original_images.size(); ++i) {
    const auto &a = in.original_images[i], &b = in.candidate_images[i];
    const bool fits = a.size() == b.size();
    const double db = fits ? psnr(a, b) : -std::numeric_limits<double>::infinity();
    if (db < r.least_psnr) {
      r.least_psnr = db;
      r.least_psnr_image = i;
    }
    sum += std::min(db, 200.0);  // equal images: 200 dB, so that the mean is a number
    r.max_error =
        std::max(r.max_error, fits ? max_abs_error(a, b) : std::numeric_limits<double>::infinity());
  }
  r.mean_psnr = sum / static_cast<double>(in.original_images.size());
  const double floor = is_strict(in.chain) ? params.exact_psnr_floor : params.loose_psnr_floor;
  if (r.least_psnr < floor) {
    r.reasons.push_back("image " + std::to_string(r.least_psnr_image) + " has only " +
                        std::to_string(r.least_psnr) + " dB to the original's (floor " +
                        std::to_string(floor) + ")");
  }
}

void check_oracle(const GateInput& in, const GateParams& params, GateResult& r) {
  if (in.candidate_steps == nullptr || in.candidate_steps->values.empty()) return;
  const auto& values = in.candidate_steps->values;
  r.worst_step_error = *std::max_element(values.begin(), values.end());
  if (is_strict(in.chain) && params.error_ceiling > 0.0 &&
      !(r.worst_step_error <= params.error_ceiling)) {
    r.reasons.push_back("oracle error " + std::to_string(r.worst_step_error) +
                        " exceeds the lane's ceiling " + std::to_string(params.error_ceiling));
  }
}

/// 90 % bootstrap interval of the worsening: both arms lose and gain the same items.
void bootstrap_score(const GateInput& in, const GateParams& params, ScoreResult& score) {
  std::vector<double> draws(static_cast<std::size_t>(params.resamples));
  for (std::size_t d = 0; d < draws.size(); ++d) {
    const auto rows = resample_rows(in.original.count, params.seed, d);
    const double o = required_score(score.rule.name, in.original, *in.reference, rows);
    const double c = required_score(score.rule.name, in.candidate, *in.reference, rows);
    draws[d] = worsening(score.rule, o, c);
  }
  std::sort(draws.begin(), draws.end());
  score.low = sorted_quantile(draws, 0.05);
  score.high = sorted_quantile(draws, 0.95);
}

ScoreResult judge_score(const ScoreRule& rule, const GateInput& in, const GateParams& params) {
  ScoreResult s;
  s.rule = rule;
  s.original = required_score(rule.name, in.original, *in.reference);
  s.candidate = required_score(rule.name, in.candidate, *in.reference);
  s.worsening = worsening(rule, s.original, s.candidate);
  if (in.original_fresh.count > 1) {
    s.fresh_worsening = worsening(rule, required_score(rule.name, in.original_fresh, *in.reference),
                                  required_score(rule.name, in.candidate_fresh, *in.reference));
  }
  s.allowed = rule.resolution;
  if (is_strict(in.chain)) {
    for (const ScoredSet& variant : in.variants) {
      const double v = required_score(rule.name, variant, *in.reference);
      s.allowed = std::max(s.allowed, std::abs(worsening(rule, s.original, v)));
    }
  } else if (in.chain == ChangeClass::kApproximate) {
    s.allowed = std::max(s.allowed, rule.margin);
    bootstrap_score(in, params, s);
    // Two one-sided tests at 5 %: the 90 % interval lies inside the margin.
    s.pass = s.high <= s.allowed && s.low >= -s.allowed && s.fresh_worsening <= s.allowed;
    return s;
  }
  s.pass = s.worsening <= s.allowed;
  return s;
}

void check_scores(const GateInput& in, const GateParams& params, GateResult& r) {
  for (const ScoreRule& rule : params.scores) {
    const ScoreResult s = judge_score(rule, in, params);
    if (!s.pass) {
      const bool tost = in.chain == ChangeClass::kApproximate;
      r.reasons.push_back(rule.name + " " + std::to_string(s.candidate) +
                          " against the original's " + std::to_string(s.original) +
                          (tost ? ": the 90 % interval of the worsening [" + std::to_string(s.low) +
                                      ", " + std::to_string(s.high) + "] or the fresh set's " +
                                      std::to_string(s.fresh_worsening) + " leaves the margin "
                                : ": worse by " + std::to_string(s.worsening) + ", allowed ") +
                          std::to_string(s.allowed));
    }
    r.scores.push_back(s);
  }
}

/// Per item, on fresh seeds where there are any: non-inferiority and the sign test of losses.
void check_items(const GateInput& in, const GateParams& params, GateResult& r) {
  const bool fresh = in.original_fresh.count > 0;
  const ScoredSet& original = fresh ? in.original_fresh : in.original;
  const ScoredSet& candidate = fresh ? in.candidate_fresh : in.candidate;
  const std::vector<double> o = label_log_probability(original);
  const std::vector<double> c = label_log_probability(candidate);
  std::vector<double> change(o.size());
  double mean = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < o.size(); ++i) {
    change[i] = c[i] - o[i];
    if (!std::isfinite(change[i])) {
      r.reasons.push_back("the judge gives no finite score to item " + std::to_string(i));
      return;
    }
    r.wins += change[i] > 0.0 ? 1 : 0;
    r.losses += change[i] < 0.0 ? 1 : 0;
    r.item_change += change[i] / static_cast<double>(o.size());
    mean += o[i] / static_cast<double>(o.size());
  }
  for (const double x : o) squares += (x - mean) * (x - mean);
  r.sign_p = binomial_upper_tail(r.losses, r.wins + r.losses, 0.5);
  if (o.size() < 2) return;
  r.item_margin = params.item_margin_sd * std::sqrt(squares / static_cast<double>(o.size() - 1));
  r.item_change_lower =
      sorted_quantile(bootstrap_means(change, std::max(params.resamples, 1000), params.seed), 0.05);
  if (in.chain != ChangeClass::kQuantization) return;
  if (r.sign_p < params.sign_test_p) {
    r.reasons.push_back("more items lose than win: " + std::to_string(r.losses) + " against " +
                        std::to_string(r.wins) + ", sign test p " + std::to_string(r.sign_p));
  }
  if (r.item_change_lower < -r.item_margin) {
    r.reasons.push_back("non-inferiority of the items is not shown: mean change at worst " +
                        std::to_string(r.item_change_lower) + ", margin " +
                        std::to_string(r.item_margin));
  }
}

void check_pairing(const GateInput& in) {
  require(in.original.count == in.candidate.count && in.original.count > 1,
          "quality gate: the scored sets do not pair up");
  require(in.original_fresh.count == in.candidate_fresh.count,
          "quality gate: the fresh scored sets do not pair up");
  require(in.original.labels == in.candidate.labels &&
              in.original_fresh.labels == in.candidate_fresh.labels,
          "quality gate: original and candidate were asked for different labels");
}

}  // namespace

GateResult run_quality_gate(const GateInput& input, const GateParams& params) {
  require(params.resamples >= 40, "quality gate: resamples must be at least 40");
  GateResult result;
  result.reasons = hard_failures(input.hard);
  HardFailureInput always = input.hard;
  std::erase_if(always.probes, [](const ProbePair& probe) { return probe.may_be_skipped; });
  result.broken = !hard_failures(always).empty();
  check_fidelity(input, params, result);
  check_oracle(input, params, result);
  // Scores of broken outputs say nothing; without a judge the first checks hold the gate.
  if (result.reasons.empty() && input.reference != nullptr) {
    check_pairing(input);
    check_scores(input, params, result);
    check_items(input, params, result);
  }
  result.pass = result.reasons.empty();
  return result;
}

}  // namespace ditar
