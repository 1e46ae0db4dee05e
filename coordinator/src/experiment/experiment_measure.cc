// What an experiment measures: the suite on the candidate, one block against the best.
#include "ditar/config/error.h"
#include "ditar/coordinator/interrupt.h"
#include "experiment/experiment_run.h"
#include "experiment/perturbation.h"
#include "experiment/records.h"
#include "experiment/weights_probe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace ditar {
namespace {

using nlohmann::json;

constexpr std::int64_t kRepeatedItems = 8;

bool product_changing(const std::string& classification) {
  return classification == "approximate" || classification == "quantization";
}

/// Share of the first rank's own time that its phases account for.
double reported_share(const std::vector<RankReport>& ranks) {
  if (ranks.empty() || !(ranks.front().milliseconds > 0.0)) return 0.0;
  double sum = 0.0;
  for (const PhaseSample& phase : ranks.front().phases) sum += phase.milliseconds;
  return sum / ranks.front().milliseconds;
}

json load_json(const LoadedWorker& worker) {
  return {{"seconds", static_cast<double>(worker.load.elapsed_ns) * 1e-9},
          {"plan", worker.load.model.plan},
          {"parity", worker.load.model.parity},
          {"knobs", parsed_or_null(worker.load.model.knobs_json)}};
}

}  // namespace

Verdict verdict_of_failure(const WorkerFailure& failure, bool of_candidate) {
  if (failure.kind() == WorkerFailureKind::kCancelled) {
    throw_if_interrupted();
  }
  const bool machine = !of_candidate || failure.kind() == WorkerFailureKind::kLaunch ||
                       failure.kind() == WorkerFailureKind::kCancelled;
  std::string why = failure.message();
  if (!failure.log_tail().empty()) why += "; its log ends: " + failure.log_tail();
  if (machine) return {"RETRY", std::string(to_string(failure.kind())), why, "a healthy machine"};
  std::string phase(to_string(failure.phase()));
  if (failure.kind() == WorkerFailureKind::kHang) phase = "hang";
  return {"CRASH", phase, why, "a candidate that answers every request"};
}

std::filesystem::path ExperimentRun::logs(const std::string& part) const {
  return project_.layout.run(id_) / part;
}

void ExperimentRun::probe(WorkerSession& worker, QualityEvidence& evidence) {
  for (const Perturbation& change : perturbations(task_, suite_request(task_, kSuiteSeed, 0))) {
    evidence.probes.push_back(
        felt(change, candidate_.finals.front(), worker.run(change.request).latents));
  }
}

void ExperimentRun::fresh_sets(QualityEvidence& evidence, WorkerSession& candidate) {
  const std::int64_t count = lane_.suite.fresh_score_images / task_.images;
  if (!product_changing(request_.classification) || count <= 0) return;
  TimedProgress timed(progress_, time_);
  timed.stage("quality: fresh seeds");
  evidence.fresh_candidate = run_free(candidate, task_, seed_, 0, count, timed);
  LoadedWorker original = launcher_->start(original_arm_, {"", 0, logs("quality/original")});
  evidence.fresh_original = run_free(*original.session, task_, seed_, 0, count, progress_);
  original.session->stop();
  for (std::int64_t item = 0; item < count; ++item) {
    for (const std::int32_t label : suite_labels(task_, item)) {
      evidence.fresh_labels.push_back(label);
    }
  }
}

void ExperimentRun::run_candidate_suite(QualityEvidence& evidence) {
  const auto items = static_cast<std::int64_t>(original_.finals.size());
  TimedProgress timed(progress_, time_);
  timed.stage("quality: the fixed suite");
  try {
    LoadedWorker worker = launcher_->start(candidate_arm_, {"", 0, logs("quality/candidate")});
    load_facts_["candidate"] = load_json(worker);
    candidate_ = run_suite(*worker.session, task_, kSuiteSeed, oracle_, items, timed);
    ranks_candidate_ = candidate_.ranks;
    evidence.repeated =
        run_free(*worker.session, task_, kSuiteSeed, 0, std::min(items, kRepeatedItems), timed);
    probe(*worker.session, evidence);
    fresh_sets(evidence, *worker.session);
    worker.session->stop();
  } catch (const WorkerFailure& failure) {
    throw verdict_of_failure(failure, true);
  } catch (const TimeIsUp& end) {
    throw Verdict{"CRASH", "hang",
                  "after " + std::to_string(time_.limit_seconds()) +
                      " s (budgets.experiment_seconds) it had done " + std::to_string(end.done) +
                      " of " + std::to_string(end.total) + " parts of \"" + end.stage + "\"",
                  "a candidate that answers sooner"};
  }
}

void ExperimentRun::measure_quality() {
  const auto start = std::chrono::steady_clock::now();
  QualityEvidence evidence;
  evidence.claimed_class = request_.classification;
  evidence.kept_classes = kept_classes_;
  const auto items = static_cast<std::int64_t>(original_.finals.size());
  run_candidate_suite(evidence);
  parent_ = original_;
  for (const Attempt& old : session_attempts()) {
    if (old.verdict != "KEEP") continue;
    kept_classes_.push_back(old.classification);
    if (old.commit == best_) {
      parent_ = load_suite(project_.layout.run(old.id) / "suite.safetensors");
    }
  }
  evidence.kept_classes = kept_classes_;
  evidence.oracle = &oracle_;
  evidence.original = &original_;
  evidence.parent = &parent_;
  evidence.candidate = &candidate_;
  evidence.seed = seed_;
  for (std::int64_t item = 0; item < items; ++item) {
    for (const std::int32_t label : suite_labels(task_, item)) evidence.labels.push_back(label);
  }
  const QualityFinding finding = parts_.quality(lane_)->judge(evidence);
  quality_numbers_ = parsed_or_null(finding.numbers_json);
  attempt_.audited_class = finding.audited_class;
  times_["quality"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!finding.pass) {
    throw Verdict{"DISCARD", finding.reason, finding.why,
                  finding.reason == "class"
                      ? "the same change under the class that its outputs show, if its scores hold"
                      : "outputs whose required scores hold against the original"};
  }
  probe_weights();
}

bool ExperimentRun::chain_is_strict() const {
  return !product_changing(request_.classification) &&
         std::none_of(kept_classes_.begin(), kept_classes_.end(), product_changing);
}

void ExperimentRun::probe_weights() {
  if (!parts_.model || !chain_is_strict()) return;
  progress_.stage("quality: other weights in one block");
  const ProbeModel probe =
      write_probe_model(parts_.model(lane_), project_.layout.run(id_) / "probe", seed_);
  const RunRequest request = suite_request(task_, kSuiteSeed, 0);
  std::vector<std::vector<float>> answers;
  for (const Arm* arm : {&original_arm_, &candidate_arm_}) {
    try {
      LoadedWorker worker =
          launcher_->start(*arm, {"", 0, logs("quality/probe-" + arm->name), probe.path});
      answers.push_back(worker.session->run(request).latents);
      worker.session->stop();
    } catch (const WorkerFailure& failure) {
      throw verdict_of_failure(failure, arm == &candidate_arm_);
    }
  }
  std::filesystem::remove(probe.path);
  const double apart = relative_l2(answers[0], answers[1]);
  char text[240];
  if (answers[1] == candidate_.finals.front()) {
    std::snprintf(text, sizeof text, "the output does not feel a changed %s",
                  probe.changed.c_str());
  } else if (!(apart <= 100.0 * lane_.oracle_error_ceiling)) {
    std::snprintf(text, sizeof text,
                  "with another %s its output lies %.3g (relative L2) from the original's: it does "
                  "not compute from the weights that it is given",
                  probe.changed.c_str(), apart);
  } else {
    return;
  }
  throw Verdict{"DISCARD", "quality", text, "an engine that computes from the weights it loads"};
}

OutputRule ExperimentRun::output_rule() const {
  if (attempt_.audited_class == "exact" && parent_.finals == candidate_.finals &&
      parent_.singles == candidate_.singles) {
    return {true, 0.0};
  }
  // Ten times one step's ceiling is the mean that the audit allows a trajectory; a single request
  // may lie above the mean. A class that changes the product is held by catastrophe alone.
  if (!product_changing(request_.classification) && !product_changing(attempt_.audited_class)) {
    return {false, 100.0 * lane_.oracle_error_ceiling};
  }
  return {false, 1.0};
}

BlockRecord ExperimentRun::measure_block(BlockKind kind, std::uint64_t number) {
  const bool control = kind == BlockKind::kControl;
  Arm other = control ? best_arm_ : candidate_arm_;
  if (control) other.name = "copy";
  BlockPlan plan{params_.quads_per_block,
                 2,
                 seed_,
                 number,
                 output_rule(),
                 logs("speed"),
                 guard_.get(),
                 cost_.get()};
  if (control) plan.rule = OutputRule{true, 0.0};
  BlockRecord record;
  record.kind = kind;
  std::string failed_arm;
  try {
    BlockResult result = run_block(*launcher_, best_arm_, other, task_, plan, failed_arm);
    record.quads = std::move(result.quads);
    record.is_void = !result.void_cause.empty();
    record.void_cause = result.void_cause;
    worst_timed_difference_ = std::max(worst_timed_difference_, result.worst_relative_l2);
    ranks_best_ = result.ranks_a;
    if (!control) {
      ranks_candidate_ = result.ranks_b;
      for (KeptOutput& kept : result.kept) kept_outputs_.push_back(std::move(kept));
      if (!result.output_fault.empty()) {
        throw Verdict{"DISCARD", "quality", result.output_fault,
                      "timed outputs that agree with the untimed ones"};
      }
      check_traces(result);
      check_floor(record);
      idle_busy_ns_ = std::max(idle_busy_ns_, result.idle_busy_ns);
      if (!result.idle_fault.empty()) {
        throw Verdict{"DISCARD", "activity", result.idle_fault,
                      "a worker that rests while it has no request"};
      }
    } else if (!result.output_fault.empty()) {
      record.is_void = true;
      record.void_cause = result.output_fault;
    }
  } catch (const WorkerFailure& failure) {
    throw verdict_of_failure(failure, failed_arm == candidate_arm_.name);
  }
  return record;
}

void ExperimentRun::check_traces(const BlockResult& result) const {
  const WorkerTraces& traces = result.traces_b;
  const auto discard = [](const std::string& reason, const std::string& why) {
    throw Verdict{"DISCARD", reason, why, "a worker that does nothing but answer"};
  };
  if (!traces.files.empty()) discard("traces", "it left " + traces.files.front() + " in its HOME");
  if (!traces.processes.empty()) {
    discard("traces", "it left the process " + traces.processes.front() + " beside its ranks");
  }
  if (!traces.printed.empty()) discard("report", "it printed \"" + traces.printed + "\"");
  const double best = reported_share(result.ranks_a), own = reported_share(result.ranks_b);
  if (best > 0.2 && own < best / 4.0) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "its phases account for %.1f %% of its own time, the best's for %.1f %%",
                  100.0 * own, 100.0 * best);
    discard("report", text);
  }
}

void ExperimentRun::check_floor(const BlockRecord& block) const {
  const auto found = baseline_.find("time_floor");
  if (found == baseline_.end() || cost_ != nullptr) return;
  const double least = time_floor_from(*found).least_ns(request_.classification);
  for (const QuadRecord& quad : block.quads) {
    const bool baab = quad.order == QuadOrder::kBaab;
    const std::int64_t own = std::min(quad.cost[baab ? 0 : 1], quad.cost[baab ? 3 : 2]);
    if (quad.is_void || static_cast<double>(own) >= least) continue;
    char text[240];
    std::snprintf(
        text, sizeof text,
        "a request took %.3f ms, and the network's arithmetic alone takes %.3f ms at four "
        "times the rate that this machine showed",
        static_cast<double>(own) * 1e-6, least * 1e-6);
    throw Verdict{"DISCARD", "suspect", text,
                  "times that the arithmetic allows; if the machine was measured too low: dit-ar "
                  "baseline"};
  }
}

/// What was timed must be what the same worker answers when nothing is timed: single steps come
/// first, as in the quality suite.
void ExperimentRun::recheck_untimed() {
  progress_.stage("recheck: the same requests untimed");
  try {
    LoadedWorker worker = launcher_->start(candidate_arm_, {"", 0, logs("untimed")});
    RunRequest single = suite_request(task_, kSuiteSeed, 0);
    single.schedule.timesteps.resize(1);
    (void)worker.session->run(single);
    const std::string fault =
        recheck_outputs(*worker.session, task_, seed_, kept_outputs_, OutputRule{true, 0.0},
                        "what the same worker answers untimed");
    worker.session->stop();
    if (!fault.empty()) {
      throw Verdict{"DISCARD", "quality", fault, "the same answers timed and untimed"};
    }
  } catch (const WorkerFailure& failure) {
    throw verdict_of_failure(failure, true);
  }
}

void ExperimentRun::recheck_secretly() {
  recheck_untimed();
  progress_.stage("recheck: secretly chosen timed outputs by the original");
  try {
    LoadedWorker original = launcher_->start(original_arm_, {"", 0, logs("recheck")});
    OutputRule rule = output_rule();
    if (rule.bits && original_.finals != candidate_.finals) {
      rule = {false, 100.0 * lane_.oracle_error_ceiling};
    }
    for (const std::string& kept : kept_classes_) {
      if (product_changing(kept)) rule = {false, 1.0};
    }
    const std::string fault = recheck_outputs(*original.session, task_, seed_, kept_outputs_, rule);
    original.session->stop();
    if (!fault.empty()) {
      throw Verdict{"DISCARD", "quality", fault, "timed outputs that are truly computed"};
    }
  } catch (const WorkerFailure& failure) {
    throw verdict_of_failure(failure, false);
  }
}

}  // namespace ditar
