// One experiment while it runs: the state that its steps share. Used by experiment_flow.cc (rules,
// record, verdict), experiment_measure.cc (suite, one block) and experiment_speed.cc (the speed
// test). One thread.
#pragma once

#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/timing_block.h"
#include "experiment/baseline_store.h"
#include "experiment/pair_run.h"
#include "experiment/sealed_seed.h"
#include "experiment/time_limit.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// A verdict thrown by whichever step finds it.
struct Verdict {
  std::string word;    ///< KEEP, DISCARD, CRASH or RETRY
  std::string reason;  ///< for the parentheses; empty for KEEP
  std::string why;
  std::string would_change;
};

class ExperimentRun {
 public:
  ExperimentRun(const Project& project, const FlowParts& parts, const ExperimentRequest& request,
                Progress& progress);
  ExperimentOutcome run();

 private:
  // experiment_flow.cc
  void refuse_what_rules_forbid();
  void refuse_a_third_mend() const;
  std::optional<ExperimentOutcome> remembered();
  void record_intent();
  void check_paths();
  Verdict judged();
  void build_arms();
  BuildResult build_known(const std::string& commit, const std::string& name);
  ExperimentOutcome finish(const Verdict& verdict);
  std::vector<std::string> audit() const;
  nlohmann::json verdict_body(const Verdict& verdict) const;
  std::filesystem::path write_receipt(const Verdict& verdict, const nlohmann::json& body) const;
  std::vector<Attempt> session_attempts() const;

  // experiment_measure.cc
  void run_candidate_suite(QualityEvidence& evidence);
  void measure_quality();
  void probe(WorkerSession& worker, QualityEvidence& evidence);
  /// One request with one block's weights changed, against the original's answer.
  void probe_weights();
  bool chain_is_strict() const;
  void fresh_sets(QualityEvidence& evidence, WorkerSession& candidate);
  BlockRecord measure_block(BlockKind kind, std::uint64_t number);
  void recheck_secretly();
  void recheck_untimed();
  void check_traces(const BlockResult& result) const;
  /// DISCARD(suspect) where a request took less than the network's arithmetic can.
  void check_floor(const BlockRecord& block) const;
  OutputRule output_rule() const;
  std::filesystem::path logs(const std::string& part) const;

  // experiment_speed.cc
  Verdict measure_speed();
  Decision run_round(int round);
  void watch_machine();
  PairPlan pair_plan(BlockKind kind, const std::string& log_folder) const;
  /// A new noise floor after an alarm. @return whether it is accepted
  bool recalibrate();
  void remeasure_doubted_best();
  double current_sigma0() const;
  void measure_original_against_best();

  const Project& project_;
  const FlowParts& parts_;
  const ExperimentRequest& request_;
  Progress& progress_;
  TimeLimit time_;
  Ledger ledger_;
  SessionState session_;
  LaneConfig lane_;
  Task task_;
  nlohmann::json baseline_;
  LaneGpus gpus_;
  std::string head_, best_, id_;
  Attempt attempt_;
  SealedSeed sealed_;
  std::uint64_t seed_ = 0;  ///< sealed_.seed
  std::vector<std::string> kept_classes_;
  Evidence evidence_;  ///< of the present round of the speed test
  BuildFlags flags_best_, flags_candidate_;
  Arm original_arm_, best_arm_, candidate_arm_;
  std::unique_ptr<WorkerLauncher> launcher_;
  std::unique_ptr<MachineGuard> guard_;
  std::unique_ptr<CostMeter> cost_;
  OracleReference oracle_;
  SuiteOutputs original_, parent_, candidate_;
  nlohmann::json quality_numbers_, load_facts_;
  std::optional<Decision> decision_;
  DecisionParams params_;
  std::vector<KeptOutput> kept_outputs_;
  std::vector<RankReport> ranks_candidate_, ranks_best_;
  double worst_timed_difference_ = 0.0;
  std::int64_t idle_busy_ns_ = 0;  ///< the candidate's most in one block while the best was timed
  std::uint64_t blocks_measured_ = 0;
  bool speed_started_ = false;
  bool time_is_up_ = false;              ///< the speed test ended by it
  std::map<std::string, double> times_;  ///< seconds by part
  double worker_seconds_ = 0.0;          ///< spent waiting for worker groups
  std::chrono::steady_clock::time_point started_;
};

/// The verdict that a decision stands for; `verify` says it anew.
Verdict verdict_of(const Decision& decision);

/// Turns a worker's failure into a verdict: the candidate's own fault is CRASH, the machine's or
/// the other arm's is RETRY.
Verdict verdict_of_failure(const WorkerFailure& failure, bool of_candidate);

}  // namespace ditar
