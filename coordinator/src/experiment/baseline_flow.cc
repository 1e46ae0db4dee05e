#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/quality/oracle_audit.h"
#include "ditar/coordinator/timing_block.h"
#include "ditar/coordinator/version.h"
#include "experiment/baseline_store.h"
#include "experiment/lane_metric.h"
#include "experiment/pair_run.h"
#include "experiment/records.h"
#include "experiment/speed_test.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace ditar {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kCalibrationRounds = 3;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double worst_oracle_error(const LaneConfig& lane, const OracleReference& oracle,
                          const SuiteOutputs& outputs) {
  const std::vector<double> table = alpha_bar_table();
  std::vector<double> alpha_bars;
  for (const std::int32_t t : timesteps_for(lane.sampler, lane.steps)) {
    alpha_bars.push_back(table[static_cast<std::size_t>(t)]);
  }
  const ErrorTable errors = step_errors(oracle.inputs, oracle.singles, outputs.singles, alpha_bars);
  return *std::max_element(errors.values.begin(), errors.values.end());
}

class BaselineFlow {
 public:
  BaselineFlow(const Project& project, const FlowParts& parts, Progress& progress)
      : project_(project),
        parts_(parts),
        progress_(progress),
        ledger_(Ledger::open(project.layout.root, LedgerMode::kWrite)),
        session_(require_session(project, ledger_.records())),
        lane_(project.settings.lane(session_.lane)),
        task_(task_of(lane_)),
        params_(decision_params(lane_)),
        files_(baseline_files(project, session_)) {}

  BaselineOutcome run() {
    const auto start = Clock::now();
    settle_session(project_, ledger_, session_);
    project_.layout.create();
    if (parts_.gpus) gpus_ = parts_.gpus(lane_);
    if (parts_.tools) tools_ = to_json(parts_.tools(lane_));
    build();
    launcher_ = parts_.launcher(lane_);
    pin_to_cpus(share_cpus(lane_, allowed_cpus()).coordinator);
    measure_quality();
    calibrate_noise();
    measure_floor();
    outcome_.commit = session_.original;
    outcome_.seconds = since(start);
    record();
    return outcome_;
  }

 private:
  void build() {
    progress_.stage("build " + session_.original.substr(0, 12));
    const auto start = Clock::now();
    build_ = parts_.build(lane_, project_.git.tree_of(session_.original));
    if (!build_.ok) {
      throw Error("the original commit does not build (" + build_.phase +
                      "): " + build_.first_error + "; the log is " + build_.log.string(),
                  ExitCode::kRules);
    }
    arm_ = arm_of("original", build_, project_.settings.engine_knobs);
    times_["build"] = since(start);
  }

  void measure_quality() {
    const auto start = Clock::now();
    const int cpus = static_cast<int>(allowed_cpus().size());
    const auto logs = files_.folder / "logs";
    const std::string reference = lane_.gpus > 0 ? "fp32" : "fp64";
    progress_.stage("oracle: reference trajectories in " + reference);
    LoadedWorker oracle =
        launcher_->start(arm_, {reference, lane_.gpus > 0 ? 0 : cpus, logs / "oracle"});
    const std::int64_t references = oracle_requests(lane_);
    oracle_ = make_oracle(*oracle.session, task_, kSuiteSeed, references, progress_);
    oracle.session->stop();
    times_["oracle"] = since(start);

    const auto suite_start = Clock::now();
    progress_.stage("suite: the original's own outputs");
    LoadedWorker worker = launcher_->start(arm_, {"", 0, logs / "suite"});
    const std::int64_t items =
        std::max(references, (lane_.suite.score_images + task_.images - 1) / task_.images);
    model_ = worker.load.model;
    original_ = run_suite(*worker.session, task_, kSuiteSeed, oracle_, items, progress_);
    worker.session->stop();

    progress_.stage(lane_.gpus > 0 ? "variant: the original started anew"
                                   : "variant: the original with other threads");
    LoadedWorker other = launcher_->start(arm_, {"", lane_.gpus > 0 ? 0 : cpus, logs / "variant"});
    const std::vector<std::vector<float>> variant =
        run_free(*other.session, task_, kSuiteSeed, 0,
                 std::min<std::int64_t>(items, lane_.suite.fidelity_images), progress_);
    other.session->stop();
    times_["suite"] = since(suite_start);

    progress_.stage("gate: variants must pass, planted faults must fail");
    const auto judge = parts_.quality(lane_);
    std::vector<std::int32_t> labels;
    for (std::int64_t item = 0; item < items; ++item) {
      for (const std::int32_t label : suite_labels(task_, item)) labels.push_back(label);
    }
    outcome_.oracle_error = worst_oracle_error(lane_, oracle_, original_);
    progress_.note("oracle error of the original: " + std::to_string(outcome_.oracle_error) +
                   " (worst single step), the lane's ceiling is " +
                   std::to_string(lane_.oracle_error_ceiling));
    if (!(outcome_.oracle_error <= lane_.oracle_error_ceiling)) {
      throw Error("the original's own oracle error " + std::to_string(outcome_.oracle_error) +
                      " is above the ceiling " + std::to_string(lane_.oracle_error_ceiling) +
                      " of lane " + lane_.name + "; its engine or its oracle is wrong here",
                  ExitCode::kTemporary);
    }
    outcome_.scores_json = judge->scores_json(original_.finals, labels);
    const std::string fault = judge->self_test(original_, variant, labels, outcome_.self_test_json);
    if (!fault.empty()) {
      throw Error("the quality gate cannot be trusted on this baseline: " + fault,
                  ExitCode::kTemporary);
    }
  }

  void calibrate_noise() {
    const auto start = Clock::now();
    std::filesystem::create_directories(files_.worker_copy.parent_path());
    std::filesystem::copy_file(build_.binary, files_.worker_copy,
                               std::filesystem::copy_options::overwrite_existing);
    Arm copy = arm_;
    copy.name = "copy";
    copy.worker = files_.worker_copy;
    const auto guard = parts_.guard ? parts_.guard(lane_, HostLimits{}) : nullptr;
    for (int round = 1; round <= kCalibrationRounds; ++round) {
      progress_.stage("noise: the original against its own copy");
      calibrate_once(copy, guard.get());
      if (outcome_.noise.accepted) break;
      ledger_.append("baseline", noise_body(false).dump());
      progress_.note("not accepted: " + joined_reasons());
    }
    times_["noise"] = since(start);
    if (!outcome_.noise.accepted) {
      throw Error("this machine is too noisy to judge by: " + joined_reasons() +
                      "; stop other work and run: dit-ar baseline",
                  ExitCode::kTemporary);
    }
  }

  void calibrate_once(const Arm& copy, MachineGuard* guard) {
    noise_plan_.task = task_;
    noise_plan_.params = params_;
    noise_plan_.kind = BlockKind::kCalibration;
    noise_plan_.seed = parts_.secret();
    noise_plan_.logs = files_.folder / "logs" / "noise";
    noise_plan_.guard = guard;
    const auto cost = parts_.cost ? parts_.cost(lane_) : nullptr;
    noise_plan_.cost = cost.get();
    PairResult measured = measure_pair(*launcher_, arm_, copy, noise_plan_, progress_);
    if (!measured.output_fault.empty()) {
      throw Error("the original does not repeat its own outputs: " + measured.output_fault,
                  ExitCode::kTemporary);
    }
    noise_plan_.cost = nullptr;
    blocks_ = std::move(measured.blocks);
    peak_ = std::move(measured.ranks);
    outcome_.noise = calibration_of(blocks_, params_);
    outcome_.detectable_percent =
        speedup_percent(minimum_detectable_effect(outcome_.noise.sigma0, params_, 1, 0));
    const json metric = metric_fields(lane_.metric, lane_.images, blocks_, false);
    outcome_.metric_seconds = metric.value("metric_seconds", 0.0);
    outcome_.metric_text = metric_text(metric);
  }

  void measure_floor() {
    if (!parts_.rate) return;
    const auto start = Clock::now();
    progress_.stage("floor: what the machine can compute at best");
    floor_ = parts_.rate(lane_, arm_);
    floor_.steps = lane_.steps;
    floor_.step_flops = dit_step_flops(model_, lane_.images * (lane_.guidance == 1.0 ? 1.0 : 2.0));
    times_["floor"] = since(start);
  }

  std::string joined_reasons() const {
    std::string reasons;
    for (const std::string& reason : outcome_.noise.reasons) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    return reasons;
  }

  /// What `verify` computes anew: every nanosecond is in the ledger itself.
  json noise_body(bool ok) const {
    const HostLimits limits = host_limits(blocks_);
    json body = pair_body(noise_plan_, blocks_);
    body.update(
        {{"session", session_.id},
         {"ok", ok},
         {"detectable_percent", outcome_.detectable_percent},
         {"metric", lane_.metric},
         {"images", lane_.images},
         {"guard_limits", {{"foreign_load", limits.foreign_load}, {"steal", limits.steal}}}});
    body.update(metric_fields(lane_.metric, lane_.images, blocks_, false));
    return body;
  }

  void record() {
    save_oracle(files_.oracle, oracle_);
    save_suite(files_.suite, original_);
    double memory = 0.0;
    for (const RankReport& rank : peak_) {
      memory =
          std::max(memory, static_cast<double>(std::max(rank.peak_bytes, rank.resident_bytes)));
    }
    json body = noise_body(true);
    body.update({{"lane", session_.lane},
                 {"commit", session_.original},
                 {"dit_ar", version()},
                 {"dit_ar_sha256", program_sha256()},
                 {"binary_sha256", build_.binary_sha256},
                 {"recipe", build_.recipe},
                 {"suite_seed", kSuiteSeed},
                 {"oracle_sha256", sha256_file(files_.oracle)},
                 {"suite_sha256", sha256_file(files_.suite)},
                 {"scores", json::parse(outcome_.scores_json)},
                 {"gate_self_test",
                  json::parse(outcome_.self_test_json.empty() ? "[]" : outcome_.self_test_json)},
                 {"memory_bytes", memory},
                 {"oracle_error", outcome_.oracle_error},
                 {"tools", tools_},
                 {"time_floor", to_json(floor_)},
                 {"ranks", aggregate(peak_)},
                 {"model_sha256", lane_.model_sha256},
                 {"hardware", to_json(gpus_)},
                 {"machine", to_json(read_host_facts())},
                 {"trust", to_json(parts_.isolation)},
                 {"seconds", times_}});
    // Named by its content: sessions of one commit share the folder, and each record's receipt
    // stays.
    const std::string text = body.dump(1) + "\n", hash = sha256_hex(text);
    const auto receipt = files_.folder / ("receipt-" + hash.substr(0, 12) + ".json");
    write_file_durably(receipt, text);
    body["receipt"] = std::filesystem::relative(receipt, project_.git.root()).string();
    body["receipt_sha256"] = hash;
    ledger_.append("baseline", body.dump());
    write_results_tsv(project_.layout.results, result_rows(attempts_of(ledger_.records())));
  }

  const Project& project_;
  const FlowParts& parts_;
  Progress& progress_;
  Ledger ledger_;
  SessionState session_;
  LaneConfig lane_;
  Task task_;
  DecisionParams params_;
  BaselineFiles files_;
  PairPlan noise_plan_;
  BuildResult build_;
  Arm arm_;
  LaneGpus gpus_;
  TimeFloor floor_;
  LoadReply model_;
  json tools_;  ///< null: not watched
  std::unique_ptr<WorkerLauncher> launcher_;
  OracleReference oracle_;
  SuiteOutputs original_;
  std::vector<BlockRecord> blocks_;
  std::vector<RankReport> peak_;
  std::map<std::string, double> times_;
  BaselineOutcome outcome_;
};

}  // namespace

BaselineOutcome run_baseline_flow(const Project& project, const FlowParts& parts,
                                  Progress& progress) {
  return BaselineFlow(project, parts, progress).run();
}

}  // namespace ditar
