// The speed test of an experiment: rounds of blocks until decide() is done, every block in the
// ledger before the next begins.
#include "experiment/experiment_run.h"
#include "experiment/records.h"
#include "experiment/speed_test.h"

#include <chrono>

namespace ditar {

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
    const std::uint64_t number = blocks_measured_++;
    progress_.stage("speed: block " + std::to_string(number + 1) + " (" +
                    std::string(to_string(*decision_->next)) + ")");
    evidence_.blocks.push_back(measure_block(*decision_->next, number));
    ledger_.append("block",
                   block_body(session_.id, id_, round, number, evidence_.blocks.back()).dump());
  }
}

Verdict ExperimentRun::measure_speed() {
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = verdict_of(run_round(1));
  if (verdict.word == "KEEP") recheck_secretly();
  times_["speed"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

}  // namespace ditar
