#include "build/build_commands.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/interrupt.h"
#include "ditar/coordinator/quality/change_class.h"
#include "ditar/coordinator/version.h"
#include "experiment/class_audit.h"
#include "experiment/experiment_run.h"
#include "experiment/lane_metric.h"
#include "experiment/metered_launcher.h"
#include "experiment/records.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

namespace ditar {
namespace {

using nlohmann::json;

constexpr int kKeepsBetweenHeadToHeads = 10;

[[noreturn]] void refuse(const std::string& text) { throw Error(text, ExitCode::kRules); }

json parsed_file(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return parsed_or_null(std::string(std::istreambuf_iterator<char>(stream), {}));
}

double largest_memory(const std::vector<RankReport>& ranks) {
  std::int64_t most = 0;
  for (const RankReport& rank : ranks) {
    most = std::max({most, rank.peak_bytes, rank.resident_bytes});
  }
  return static_cast<double>(most);
}

}  // namespace

std::vector<std::string> settle_session(const Project& project, Ledger& ledger,
                                        const SessionState& session) {
  std::vector<std::string> done;
  for (const OpenAttempt& open :
       recover_session(ledger, session, "the run ended before its verdict")) {
    done.push_back("closed " + open.id + " as abandoned");
  }
  const std::vector<Attempt> attempts = attempts_of(ledger.records(), session.id);
  const auto kept = std::find_if(attempts.rbegin(), attempts.rend(),
                                 [](const Attempt& a) { return a.verdict == "KEEP"; });
  if (kept != attempts.rend() && best_commit(project.git, session) == kept->parent) {
    advance_best(project.git, session, kept->parent, kept->commit, "dit-ar: finish " + kept->id);
    done.push_back("finished the KEEP of " + kept->id);
  }
  return done;
}

ExperimentRun::ExperimentRun(const Project& project, const FlowParts& parts,
                             const ExperimentRequest& request, Progress& progress)
    : project_(project),
      parts_(parts),
      request_(request),
      progress_(progress),
      time_(parts.clock, project.settings.budgets.experiment_seconds),
      ledger_(Ledger::open(project.layout.root, LedgerMode::kWrite)),
      session_(require_session(project, ledger_.records())),
      lane_(project.settings.lane(session_.lane)),
      task_(task_of(lane_)),
      params_(decision_params(lane_)) {}

std::vector<Attempt> ExperimentRun::session_attempts() const {
  return attempts_of(ledger_.records(), session_.id);
}

void ExperimentRun::refuse_what_rules_forbid() {
  change_class_from(request_.classification);
  const auto& allowed = lane_.allowed_classes;
  if (std::find(allowed.begin(), allowed.end(), request_.classification) == allowed.end()) {
    refuse("lane " + lane_.name + " does not allow " + request_.classification + " experiments");
  }
  if (request_.description.find_first_not_of(" \t\n") == std::string::npos) {
    throw InvalidArgument("--description is empty; state the causal hypothesis in one sentence");
  }
  baseline_ = baseline_body(session_);
  if (const std::string then = baseline_.value("dit_ar_sha256", ""); then != program_sha256()) {
    refuse("this dit-ar (sha256 " + program_sha256().substr(0, 12) +
           ") is not the one that measured the baseline (" +
           (then.empty() ? std::string("none recorded") : then.substr(0, 12)) +
           "); run that one, or measure anew: dit-ar baseline");
  }
  if (parts_.tools) {
    const std::string changed = changed_tool(baseline_.value("tools", json()), parts_.tools(lane_));
    if (!changed.empty()) {
      refuse(changed +
             "; call dit-ar with that one first on PATH, or measure anew: dit-ar baseline");
    }
  }
  if (parts_.gpus) gpus_ = parts_.gpus(lane_);
  const auto measured = baseline_.find("hardware");
  if (measured != baseline_.end() && measured->value("key", "") != hardware_key(gpus_)) {
    refuse("the baseline was measured on " + measured->value("key", "") + ", this machine has " +
           hardware_key(gpus_) +
           ": their figures cannot be compared; measure it anew: dit-ar baseline");
  }
  const WorkTreeStatus tree = project_.git.status();
  if (!tree.clean()) {
    const std::string first = tree.changed.empty() ? tree.untracked.front() : tree.changed.front();
    refuse("the working tree is not clean ('" + first +
           "'); an experiment is one commit: commit it, or undo it with git checkout -- <path>");
  }
  head_ = project_.git.head();
  best_ = best_commit(project_.git, session_);
  if (head_ == best_) {
    refuse("HEAD is the lane's best already; edit a mutable path and commit it first");
  }
}

void ExperimentRun::refuse_a_third_mend() const {
  const auto attempts = session_attempts();
  if (crashes_of(attempts, best_, request_.description) <= kMendsOfACrash) return;
  refuse("this hypothesis crashed, was mended twice and crashed again; go back with " +
         std::string("git reset --hard HEAD^ (or dit-ar discard) and try another"));
}

std::optional<ExperimentOutcome> ExperimentRun::remembered() {
  if (request_.again) return std::nullopt;
  for (const Attempt& old : session_attempts()) {
    const bool judged = old.verdict == "KEEP" || old.verdict == "DISCARD" || old.verdict == "CRASH";
    if (!judged || old.change_id != attempt_.change_id || old.parent != attempt_.parent ||
        old.classification != request_.classification) {
      continue;
    }
    ExperimentOutcome out;
    out.attempt = old;
    out.from_memory = true;
    out.would_change = "measuring it once more: add --again";
    out.last_line = old.verdict + (old.reason.empty() ? "" : "(" + old.reason + ")") + " " +
                    old.id + ": the same change was judged before";
    return out;
  }
  return std::nullopt;
}

void ExperimentRun::record_intent() {
  id_ = attempt_id(session_, session_.next_number);
  sealed_ = draw_sealed_seed(parts_.secret);
  seed_ = sealed_.seed;
  attempt_.id = id_;
  std::filesystem::create_directories(project_.layout.run(id_));
  ledger_.append("intent", json{{"session", session_.id},
                                {"id", id_},
                                {"lane", session_.lane},
                                {"commit", head_},
                                {"parent", best_},
                                {"tree", project_.git.tree_of(head_)},
                                {"change_id", attempt_.change_id},
                                {"classification", request_.classification},
                                {"description", request_.description},
                                {"expect", request_.expect},
                                {"cites", request_.cites},
                                {"supported", request_.supported},
                                {"untried_exact_rungs", untried_exact_rungs(session_attempts())},
                                {"seed_commitment", seed_commitment(id_, sealed_)}}
                               .dump());
  archive_commit(project_.git, session_, id_, head_);
}

void ExperimentRun::check_paths() {
  const std::vector<std::string> parents = project_.git.parents_of(head_);
  if (parents.size() != 1 || parents.front() != best_) {
    throw Verdict{"DISCARD", "rules",
                  "an experiment is exactly one commit on top of the best (" + best_.substr(0, 12) +
                      "); HEAD's parent is " +
                      (parents.empty() ? std::string("none") : parents.front().substr(0, 12)),
                  "one commit with one hypothesis: dit-ar discard, then commit the change alone"};
  }
  const auto changes =
      project_.git.diff_trees(project_.git.tree_of(best_), project_.git.tree_of(head_));
  if (changes.empty())
    throw Verdict{"DISCARD", "no change", "the commit changes no file", "an edit"};
  std::vector<std::string> faults = change_faults(changes, project_.settings.paths);
  const std::vector<std::string> locks =
      lock_faults(project_.git, head_, project_.settings.paths, session_.locks);
  if (faults.empty() && !locks.empty()) faults.push_back(locks.front() + " is locked since init");
  if (faults.empty()) faults = build_command_faults(project_.git, changes);
  if (!faults.empty()) {
    throw Verdict{"DISCARD", "rules", faults.front(), "an edit of mutable_paths alone"};
  }
}

BuildResult ExperimentRun::build_known(const std::string& commit, const std::string& name) {
  BuildResult built = parts_.build(lane_, project_.git.tree_of(commit));
  if (!built.ok) {
    throw Verdict{"RETRY", "build",
                  "the " + name + " commit, which was built before, does not: " + built.first_error,
                  "a machine that builds it"};
  }
  return built;
}

void ExperimentRun::build_arms() {
  const auto start = std::chrono::steady_clock::now();
  const std::string& knobs = project_.settings.engine_knobs;
  progress_.stage("build: original and best");
  const BuildResult original = build_known(session_.original, "original");
  const BuildResult best = build_known(best_, "best");
  progress_.stage("build " + head_.substr(0, 12));
  time_.start();
  const BuildResult candidate = parts_.build(lane_, project_.git.tree_of(head_));
  times_["build"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!candidate.ok) {
    throw Verdict{
        "CRASH", "build",
        candidate.timed_out ? "the build did not end within its time limit" : candidate.first_error,
        "a commit that compiles; the log is " + candidate.log.string()};
  }
  if (time_.is_over()) {
    throw Verdict{
        "CRASH", "build",
        "the build alone took longer than an experiment may (budgets.experiment_seconds: " +
            std::to_string(time_.limit_seconds()) + ")",
        "a change that builds faster"};
  }
  flags_best_ = best.flags;
  flags_candidate_ = candidate.flags;
  original_arm_ = arm_of("original", original, knobs);
  best_arm_ = arm_of("best", best, knobs);
  candidate_arm_ = arm_of("candidate", candidate, knobs);
  if (best_arm_.worker_sha256 == candidate_arm_.worker_sha256 &&
      parsed_file(best_arm_.knobs) == parsed_file(candidate_arm_.knobs)) {
    throw Verdict{"DISCARD", "no change",
                  "the built worker and its knobs are the same as the best's, byte for byte",
                  "a change that reaches the program"};
  }
}

Verdict ExperimentRun::judged() {
  check_paths();
  build_arms();
  launcher_ = meter_launcher(parts_.launcher(lane_), worker_seconds_);
  pin_to_cpus(share_cpus(lane_, allowed_cpus()).coordinator);
  load_baseline(baseline_files(project_, session_), baseline_, oracle_, original_);
  measure_quality();
  return measure_speed();
}

std::vector<std::string> ExperimentRun::audit() const {
  ClassAuditInput input{
      request_.classification, attempt_.audited_class, flags_best_, flags_candidate_, {}, {}};
  if (speed_started_) {
    input.ranks_best = ranks_best_;
    input.ranks_candidate = ranks_candidate_;
  }
  return class_audit(input);
}

json ExperimentRun::verdict_body(const Verdict& verdict) const {
  json body = {{"session", session_.id},
               {"id", id_},
               {"lane", session_.lane},
               {"metric", lane_.metric},
               {"off_target", gpus_.off_target},
               {"images", lane_.images},
               {"commit", head_},
               {"verdict", verdict.word},
               {"reason", verdict.reason},
               {"why", verdict.why},
               {"would_change", verdict.would_change},
               {"audited_class", attempt_.audited_class},
               {"audit", audit()},
               {"quality", quality_use_json(quality_numbers_)},
               {"speed_test_started", speed_started_},
               {"used_seconds", time_.used_seconds()},
               {"seed", hex_text(sealed_.seed)},
               {"seed_salt", sealed_.salt}};
  if (time_is_up_) body["time_limit_seconds"] = time_.limit_seconds();
  if (speed_started_) {
    body["memory_bytes"] = largest_memory(ranks_candidate_);
    body.update(metric_fields(lane_.metric, lane_.images, evidence_.blocks, true));
    body["phase_shift"] = phase_shift(ranks_best_, ranks_candidate_);
  }
  if (decision_ && decision_->numbers.screen_blocks > 0) {
    const HodgesLehmann& effect = decision_->numbers.effect;
    body["speedup_percent"] = speedup_percent(effect.estimate);
    body["speedup_low_percent"] = speedup_percent(effect.low);
    body["speedup_high_percent"] = speedup_percent(effect.high);
  }
  return body;
}

std::filesystem::path ExperimentRun::write_receipt(const Verdict& verdict, const json& body) const {
  json receipt = body;
  json blocks = json::array();
  for (const BlockRecord& block : evidence_.blocks) blocks.push_back(to_json(block));
  const auto arm = [](const Arm& of) {
    return json{{"worker_sha256", of.worker_sha256}, {"knobs", parsed_file(of.knobs)}};
  };
  receipt["dit_ar"] = version();
  receipt["dit_ar_sha256"] = program_sha256();
  receipt["classification"] = request_.classification;
  receipt["description"] = request_.description;
  receipt["expect"] = request_.expect;
  receipt["parent"] = best_;
  receipt["original"] = session_.original;
  receipt["settings_sha256"] = project_.settings.sha256;
  receipt["model_sha256"] = lane_.model_sha256;
  receipt["judge_sha256"] = lane_.judge_sha256;
  receipt["arms"] = {{"original", arm(original_arm_)},
                     {"best", arm(best_arm_)},
                     {"candidate", arm(candidate_arm_)}};
  receipt["load"] = load_facts_;
  receipt["quality"] = quality_numbers_;
  receipt["parameters"] = to_json(params_);
  receipt["sigma0"] = evidence_.sigma0;
  receipt["test_index"] = evidence_.test_index;
  receipt["keeps_before"] = evidence_.keeps_before;
  receipt["controls_before"] = evidence_.controls_before;
  receipt["control_after"] = evidence_.control_after;
  receipt["blocks"] = blocks;
  if (decision_) receipt["decision"] = to_json(*decision_);
  receipt["timed_outputs_worst_relative_l2"] = worst_timed_difference_;
  receipt["idle_busy_ns"] = idle_busy_ns_;
  receipt["ranks"] = {{"candidate", aggregate(ranks_candidate_)}, {"best", aggregate(ranks_best_)}};
  receipt["hardware"] = to_json(gpus_);
  receipt["machine"] = to_json(read_host_facts());
  receipt["trust"] = to_json(parts_.isolation);
  receipt["seconds"] = times_;
  receipt["verdict"] = verdict.word;
  const auto file = project_.layout.run(id_) / "receipt.json";
  write_file_durably(file, receipt.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return file;
}

ExperimentOutcome ExperimentRun::finish(const Verdict& verdict) {
  times_["total"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  times_["worker"] = worker_seconds_;
  times_["overhead"] = times_["total"] - times_["build"] - worker_seconds_;
  json body = verdict_body(verdict);
  const std::filesystem::path receipt = write_receipt(verdict, body);
  body["receipt"] = std::filesystem::relative(receipt, project_.git.root()).string();
  body["receipt_sha256"] = sha256_file(receipt);
  const std::string next =
      verdict.word == "KEEP"    ? next_step_after(session_attempts())
      : verdict.word == "RETRY" ? "run the command again"
      : verdict.word == "CRASH"
          ? step_after_crash(verdict.reason,
                             1 + crashes_of(session_attempts(), best_, request_.description))
          : "go back with git reset --hard HEAD^ (or dit-ar discard), then " +
                next_step_after(session_attempts());
  body["next_step"] = next;
  if (verdict.word == "KEEP") {
    save_suite(project_.layout.run(id_) / "suite.safetensors", candidate_);
  }
  ledger_.append("verdict", body.dump(-1, ' ', false, json::error_handler_t::replace));
  if (verdict.word == "KEEP") {
    advance_best(project_.git, session_, best_, head_, "dit-ar: keep " + id_);
    if ((evidence_.keeps_before + 1) % kKeepsBetweenHeadToHeads == 0) {
      measure_original_against_best();
    }
  }
  const std::vector<Attempt> all = attempts_of(ledger_.records());
  write_results_tsv(project_.layout.results, result_rows(all));
  ExperimentOutcome out;
  out.attempt = find_attempt(all, id_);
  out.would_change = verdict.would_change;
  out.last_line = verdict.word == "RETRY"
                      ? "RETRY: " + request_.command
                      : verdict.word + (verdict.reason.empty() ? "" : "(" + verdict.reason + ")") +
                            " " + id_ + " " + head_.substr(0, 12) +
                            (gpus_.off_target ? " (off-target): " : ": ") + verdict.why;
  return out;
}

ExperimentOutcome ExperimentRun::run() {
  started_ = std::chrono::steady_clock::now();
  refuse_what_rules_forbid();
  for (const std::string& line : settle_session(project_, ledger_, session_)) progress_.note(line);
  best_ = best_commit(project_.git, session_);
  session_ = require_session(project_, ledger_.records());
  attempt_.parent = best_;
  attempt_.change_id =
      project_.git.change_id(project_.git.tree_of(best_), project_.git.tree_of(head_));
  if (auto known = remembered()) return *known;
  refuse_a_third_mend();
  record_intent();
  Verdict verdict;
  try {
    verdict = judged();
  } catch (const Verdict& found) {
    verdict = found;
  } catch (const std::exception& error) {
    ledger_.append("abandoned",
                   json{{"session", session_.id}, {"id", id_}, {"reason", error.what()}}.dump(
                       -1, ' ', false, json::error_handler_t::replace));
    throw;
  }
  ExperimentOutcome out = finish(verdict);
  prune_builds(project_.layout.root, project_.settings.budgets.disk_bytes,
               {project_.git.tree_of(session_.original), project_.git.tree_of(best_),
                project_.git.tree_of(head_)});
  return out;
}

ExperimentOutcome run_experiment_flow(const Project& project, const FlowParts& parts,
                                      const ExperimentRequest& request, Progress& progress) {
  return ExperimentRun(project, parts, request, progress).run();
}

}  // namespace ditar
