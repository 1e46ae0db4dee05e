// The speed test of an experiment: rounds of blocks until decide() is done, every block in the
// ledger before the next begins.
#include "ditar/config/error.h"
#include "experiment/experiment_run.h"
#include "experiment/records.h"
#include "experiment/remeasure.h"
#include "experiment/speed_test.h"

#include <algorithm>
#include <chrono>

namespace ditar {

using nlohmann::json;

Verdict verdict_of(const Decision& decision) {
  switch (decision.outcome) {
    case Outcome::kKeep:
      return {"KEEP", "", decision.why, decision.would_change};
    case Outcome::kDiscard: {
      std::string reason(to_string(decision.reason));
      if (decision.reason == DiscardReason::kFutile || decision.reason == DiscardReason::kSlower ||
          decision.reason == DiscardReason::kNotConfirmed) {
        reason = "speed";
      }
      return {"DISCARD", reason, decision.why, decision.would_change};
    }
    case Outcome::kQuarantined:
      return {"RETRY", "noise", decision.why + "; calibrate anew first: dit-ar baseline",
              decision.would_change};
    default:
      return {"RETRY", "machine", decision.why, decision.would_change};
  }
}

Decision ExperimentRun::run_round(int round) {
  evidence_ = evidence_of(campaign_state(ledger_.records(), session_.id, id_), seed_, params_);
  ledger_.append("speed-test", speed_test_body(session_.id, id_, round, evidence_, params_).dump());
  speed_started_ = true;
  for (;;) {
    decision_ = decide(evidence_, params_);
    if (!decision_->next) return *decision_;
    if (!evidence_.blocks.empty() && time_.is_over()) {
      time_is_up_ = true;
      throw Verdict{"DISCARD", "unresolved",
                    "undecided after " + std::to_string(time_.limit_seconds()) +
                        " s (budgets.experiment_seconds) and " +
                        std::to_string(evidence_.blocks.size()) + " blocks; " + decision_->why,
                    "a larger effect, or a quieter machine"};
    }
    const std::uint64_t number = blocks_measured_++;
    progress_.stage("speed: block " + std::to_string(number + 1) + " (" +
                    std::string(to_string(*decision_->next)) + ")");
    evidence_.blocks.push_back(measure_block(*decision_->next, number));
    ledger_.append("block",
                   block_body(session_.id, id_, round, number, evidence_.blocks.back()).dump());
  }
}

void ExperimentRun::watch_machine() {
  HostLimits limits;
  if (const auto found = baseline_.find("guard_limits"); found != baseline_.end()) {
    limits.foreign_load = found->value("foreign_load", limits.foreign_load);
    limits.steal = found->value("steal", limits.steal);
  }
  if (parts_.guard) guard_ = parts_.guard(lane_, limits);
  if (parts_.cost) cost_ = parts_.cost(lane_);
}

PairPlan ExperimentRun::pair_plan(BlockKind kind, const std::string& log_folder) const {
  PairPlan plan{task_, params_, kind, parts_.secret(), 0, logs(log_folder), guard_.get(), cost_};
  return plan;
}

bool ExperimentRun::recalibrate() {
  progress_.stage("noise: the best against its own copy");
  Arm copy = best_arm_;
  copy.name = "copy";
  const PairPlan plan = pair_plan(BlockKind::kCalibration, "calibration");
  const PairResult measured = measure_pair(*launcher_, best_arm_, copy, plan, progress_);
  json body = pair_body(plan, measured.blocks);
  body["session"] = session_.id;
  body["id"] = id_;
  ledger_.append("calibration", body.dump());
  return measured.output_fault.empty() && body["calibration"].value("accepted", false);
}

void ExperimentRun::remeasure_doubted_best() {
  const auto attempts = session_attempts();
  const auto kept = std::find_if(attempts.begin(), attempts.end(), [&](const Attempt& attempt) {
    return attempt.verdict == "KEEP" && attempt.commit == best_;
  });
  if (kept == attempts.end()) return;  // the original: nothing was claimed of it
  progress_.stage("quarantine: " + kept->id + " once more against its parent");
  const Arm parent =
      arm_of("parent", build_known(kept->parent, "parent"), project_.settings.engine_knobs);
  const PairPlan plan = pair_plan(BlockKind::kHeadToHead, "quarantine");
  const PairResult measured = measure_pair(*launcher_, parent, best_arm_, plan, progress_);
  const std::string line = record_remeasure(ledger_, session_.id, *kept, "quarantine", plan,
                                            measured.blocks, current_sigma0());
  progress_.note(line);
}

double ExperimentRun::current_sigma0() const {
  return campaign_state(ledger_.records(), session_.id, id_).sigma0;
}

Verdict ExperimentRun::measure_speed() {
  const auto start = std::chrono::steady_clock::now();
  watch_machine();
  Decision decision = run_round(1);
  if (decision.outcome == Outcome::kQuarantined) {
    progress_.note("quarantined: " + decision.why + "; the noise is measured anew");
    ledger_.append(
        "quarantine",
        json{{"session", session_.id}, {"id", id_}, {"why", decision.why}, {"best", best_}}.dump());
    if (!recalibrate()) return verdict_of(decision);
    remeasure_doubted_best();
    decision = run_round(2);
  }
  const Verdict verdict = verdict_of(decision);
  if (verdict.word == "KEEP") recheck_secretly();
  times_["speed"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

void ExperimentRun::measure_original_against_best() {
  progress_.stage("original against best: the cumulative gain");
  try {
    const PairPlan plan = pair_plan(BlockKind::kHeadToHead, "cumulative");
    const PairResult measured =
        measure_pair(*launcher_, original_arm_, candidate_arm_, plan, progress_);
    json body = pair_body(plan, measured.blocks);
    body["session"] = session_.id;
    body["id"] = id_;
    body["a"] = session_.original;
    body["b"] = head_;
    ledger_.append("head-to-head", body.dump());
  } catch (const WorkerFailure& failure) {
    progress_.note("the cumulative gain was not measured: " + failure.message());
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kTemporary) throw;
    progress_.note("the cumulative gain was not measured: " + error.message());
  }
}

}  // namespace ditar
