#include "ditar/config/error.h"
#include "ditar/coordinator/judgement.h"
#include "ditar/coordinator/quality/quality_gate.h"
#include "ditar/coordinator/quality/scores.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace ditar {
namespace {

using nlohmann::json;

std::string joined(const std::vector<std::string>& reasons) {
  std::string out;
  for (const std::string& reason : reasons) out += (out.empty() ? "" : "; ") + reason;
  return out;
}

std::vector<float> flattened(std::span<const std::vector<float>> images) {
  std::vector<float> out;
  for (const auto& image : images) out.insert(out.end(), image.begin(), image.end());
  return out;
}

/// JSON has no infinity; null stands for a value that is not finite.
json finite(double value) { return std::isfinite(value) ? json(value) : json(); }

json audit_json(const AuditResult& audit) {
  return {{"shown", to_string(audit.shown)},
          {"claim_holds", audit.claim_holds},
          {"reasons", audit.reasons},
          {"step_ratio", finite(audit.step_ratio)},
          {"step_ratio_upper", finite(audit.step_ratio_upper)},
          {"free_ratio", finite(audit.free_ratio)},
          {"free_ratio_upper", finite(audit.free_ratio_upper)},
          {"worst_step_error", finite(audit.worst_step_error)},
          {"mean_free_error", finite(audit.mean_free_error)},
          {"worst_over_admissible", finite(audit.worst_over_admissible)}};
}

json gate_json(const GateResult& gate) {
  json scores = json::array();
  for (const ScoreResult& score : gate.scores) {
    scores.push_back({{"name", score.rule.name},
                      {"original", finite(score.original)},
                      {"candidate", finite(score.candidate)},
                      {"worsening", finite(score.worsening)},
                      {"allowed", finite(score.allowed)},
                      {"margin", finite(score.rule.margin)},
                      {"fresh_worsening", finite(score.fresh_worsening)},
                      {"low", finite(score.low)},
                      {"high", finite(score.high)},
                      {"pass", score.pass}});
  }
  return {{"pass", gate.pass},
          {"reasons", gate.reasons},
          {"scores", scores},
          {"least_psnr_db", finite(gate.least_psnr)},
          {"mean_psnr_db", finite(gate.mean_psnr)},
          {"max_error", finite(gate.max_error)},
          {"worst_step_error", finite(gate.worst_step_error)},
          {"wins", gate.wins},
          {"losses", gate.losses},
          {"sign_p", gate.sign_p}};
}

class LaneQualityJudge final : public QualityJudge {
 public:
  LaneQualityJudge(const LaneConfig& lane, const std::filesystem::path& judge_file) : lane_(lane) {
    if (!judge_file.empty()) judge_.emplace(judge_file);
    const std::vector<double> table = alpha_bar_table();
    for (const std::int32_t t : timesteps_for(lane.sampler, lane.steps)) {
      alpha_bars_.push_back(table[static_cast<std::size_t>(t)]);
    }
  }

  QualityFinding judge(const QualityEvidence& evidence) override {
    const ChangeClass claimed = change_class_from(evidence.claimed_class);
    const ErrorTable steps = errors(*evidence.oracle, *evidence.candidate);
    const AuditResult audit = audited(claimed, evidence, steps);
    const GateResult gate = gated(claimed, evidence, steps);
    QualityFinding out;
    out.audited_class = to_string(audit.shown);
    out.numbers_json = json{{"audit", audit_json(audit)}, {"gate", gate_json(gate)}}.dump();
    const bool audit_counts = claimed == ChangeClass::kExact || claimed == ChangeClass::kNumerical;
    if (audit_counts && !audit.claim_holds && !gate.broken) {
      out.reason = "class";
      out.why = "claimed " + evidence.claimed_class + ", its outputs show " + out.audited_class +
                ": " + joined(audit.reasons);
    } else if (!gate.pass) {
      out.reason = "quality";
      out.why = joined(gate.reasons);
    } else {
      out.pass = true;
      out.why = "every required score holds and the outputs show " + out.audited_class;
    }
    return out;
  }

  std::string scores_json(const std::vector<std::vector<float>>& finals,
                          const std::vector<std::int32_t>& labels) override {
    json out = json::object();
    if (!judge_) return out.dump();
    const ScoredSet set = judge_->score(flattened(finals), labels);
    for (const RequiredScore& score : lane_.required_scores) {
      out[score.name] = required_score(score.name, set, judge_->reference());
    }
    return out.dump();
  }

  std::string self_test(const SuiteOutputs& original,
                        const std::vector<std::vector<float>>& variant,
                        const std::vector<std::int32_t>& labels,
                        std::string& numbers_json) override {
    if (!judge_) return {};
    const std::size_t count = variant.size();
    const SelfTestInput input{
        std::span(original.finals).first(count),
        {variant},
        {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(count)}};
    json cases = json::array();
    std::string fault;
    for (const SelfTestCase& entry :
         run_gate_self_test(input, *judge_, ChangeClass::kExact, gate_params(0))) {
      cases.push_back(
          {{"name", entry.name}, {"must_pass", entry.must_pass}, {"passed", entry.passed}});
      if (!entry.as_expected() && fault.empty()) {
        fault = "the gate " + std::string(entry.passed ? "passes" : "fails") + " '" + entry.name +
                "', it must not" + (entry.reasons.empty() ? "" : ": " + joined(entry.reasons));
      }
    }
    numbers_json = cases.dump();
    return fault;
  }

 private:
  ErrorTable errors(const OracleReference& oracle, const SuiteOutputs& outputs) const {
    return step_errors(oracle.inputs, oracle.singles, outputs.singles, alpha_bars_);
  }

  AuditResult audited(ChangeClass claimed, const QualityEvidence& evidence,
                      const ErrorTable& steps) const {
    const auto items = static_cast<std::size_t>(evidence.oracle->items);
    AuditInput input;
    input.bits_equal = evidence.candidate->singles == evidence.parent->singles &&
                       evidence.candidate->finals == evidence.parent->finals;
    input.parent_steps = errors(*evidence.oracle, *evidence.parent);
    input.candidate_steps = steps;
    input.parent_free =
        free_errors(evidence.oracle->finals, std::span(evidence.parent->finals).first(items));
    input.candidate_free =
        free_errors(evidence.oracle->finals, std::span(evidence.candidate->finals).first(items));
    AuditParams params;
    params.step_ceiling = lane_.oracle_error_ceiling;
    params.seed = evidence.seed;
    return audit_class(claimed, input, params);
  }

  GateParams gate_params(std::uint64_t seed) const {
    GateParams params;
    for (const RequiredScore& score : lane_.required_scores) {
      params.scores.push_back({score.name, score.better == "higher", score.margin, 0.0});
    }
    params.error_ceiling = lane_.oracle_error_ceiling;
    params.seed = seed;
    return params;
  }

  GateResult gated(ChangeClass claimed, const QualityEvidence& evidence,
                   const ErrorTable& steps) const {
    GateInput input;
    input.chain = claimed;
    for (const std::string& kept : evidence.kept_classes) {
      input.chain = loosest(input.chain, change_class_from(kept));
    }
    const auto& finals = evidence.candidate->finals;
    input.hard.values_per_output = evidence.original->finals.front().size();
    input.hard.outputs = finals;
    input.hard.again = evidence.repeated;
    const bool strict = input.chain <= ChangeClass::kNumerical;
    for (const ProbePair& probe : evidence.probes) {
      if (strict || !probe.may_be_skipped) input.hard.probes.push_back(probe);
    }
    const auto fidelity =
        std::min(finals.size(), static_cast<std::size_t>(std::max(0, lane_.suite.fidelity_images)));
    input.original_images = std::span(evidence.original->finals).first(fidelity);
    input.candidate_images = std::span(finals).first(fidelity);
    input.candidate_steps = &steps;
    if (judge_) {
      input.reference = &judge_->reference();
      input.original = judge_->score(flattened(evidence.original->finals), evidence.labels);
      input.candidate = judge_->score(flattened(finals), evidence.labels);
      if (!evidence.fresh_candidate.empty()) {
        input.original_fresh =
            judge_->score(flattened(evidence.fresh_original), evidence.fresh_labels);
        input.candidate_fresh =
            judge_->score(flattened(evidence.fresh_candidate), evidence.fresh_labels);
      }
    }
    return run_quality_gate(input, gate_params(evidence.seed));
  }

  LaneConfig lane_;
  std::optional<Judge> judge_;
  std::vector<double> alpha_bars_;
};

}  // namespace

std::unique_ptr<QualityJudge> make_quality_judge(const LaneConfig& lane,
                                                 const std::filesystem::path& judge_file) {
  return std::make_unique<LaneQualityJudge>(lane, judge_file);
}

}  // namespace ditar
