#include "experiment/remeasure.h"

#include "ditar/config/error.h"
#include "experiment/baseline_store.h"
#include "experiment/records.h"
#include "experiment/speed_test.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace ditar {
namespace {

using nlohmann::json;

std::string pair_text(const HeadToHead& numbers) {
  char text[160];
  std::snprintf(text, sizeof text, "%+.2f %% [%+.2f, %+.2f] over %d fresh blocks, p %.4g",
                speedup_percent(numbers.effect.estimate), speedup_percent(numbers.effect.low),
                speedup_percent(numbers.effect.high), numbers.blocks, numbers.p);
  return text;
}

class RemeasureFlow {
 public:
  RemeasureFlow(const Project& project, const FlowParts& parts, Progress& progress)
      : project_(project),
        parts_(parts),
        progress_(progress),
        ledger_(Ledger::open(project.layout.root, LedgerMode::kWrite)),
        session_(require_session(project, ledger_.records())),
        lane_(project.settings.lane(session_.lane)),
        baseline_(baseline_body(session_)) {}

  RemeasureOutcome of_attempt(const std::string& name) {
    const std::vector<Attempt> attempts = attempts_of(ledger_.records(), session_.id);
    const Attempt& attempt = find_attempt(attempts, name);
    RemeasureOutcome out;
    out.id = attempt.id;
    if (attempt.id == "baseline") {
      throw InvalidArgument("the baseline is measured again by: dit-ar baseline");
    }
    progress_.stage("build " + attempt.parent.substr(0, 12) + " and " +
                    attempt.commit.substr(0, 12));
    const BuildResult candidate = parts_.build(lane_, project_.git.tree_of(attempt.commit));
    if (!candidate.ok) {
      out.upheld = attempt.verdict == "CRASH" && attempt.reason == "build";
      out.line = attempt.id + " does not build" +
                 (out.upheld ? ", as recorded: " : ", though it did: ") + candidate.first_error;
      return out;
    }
    const Arm a = known_arm("parent", attempt.parent);
    const Arm b = arm_of("candidate", candidate, project_.settings.engine_knobs);
    const std::vector<BlockRecord> blocks = measure(a, b, attempt.id);
    const double sigma0 = campaign_state(ledger_.records(), session_.id, "").sigma0;
    out.line = record_remeasure(ledger_, session_.id, attempt, "asked", plan_, blocks, sigma0);
    const json body = json::parse(ledger_.records().back().body);
    out.upheld = body.value("upheld", false);
    return out;
  }

  RemeasureOutcome of_best() {
    const std::string best = best_commit(project_.git, session_);
    if (best == session_.original) {
      throw Error("nothing is kept yet; the best is the original itself", ExitCode::kRules);
    }
    const Arm a = known_arm("original", session_.original);
    const Arm b = known_arm("best", best);
    const std::vector<BlockRecord> blocks = measure(a, b, "best");
    json body = pair_body(plan_, blocks);
    body["session"] = session_.id;
    body["id"] = "best";
    body["a"] = session_.original;
    body["b"] = best;
    ledger_.append("head-to-head", body.dump());
    return {"best", true,
            "cumulative gain of " + best.substr(0, 12) +
                " over the original: " + pair_text(head_to_head(blocks, plan_.params))};
  }

 private:
  Arm known_arm(const std::string& name, const std::string& commit) {
    const BuildResult built = parts_.build(lane_, project_.git.tree_of(commit));
    if (!built.ok) {
      throw Error("commit " + commit.substr(0, 12) +
                      ", which was built before, does not: " + built.first_error,
                  ExitCode::kTemporary);
    }
    return arm_of(name, built, project_.settings.engine_knobs);
  }

  std::vector<BlockRecord> measure(const Arm& a, const Arm& b, const std::string& id) {
    const auto launcher = parts_.launcher(lane_);
    pin_to_cpus(share_cpus(lane_, allowed_cpus()).coordinator);
    HostLimits limits;
    if (const auto found = baseline_.find("guard_limits"); found != baseline_.end()) {
      limits.foreign_load = found->value("foreign_load", limits.foreign_load);
      limits.steal = found->value("steal", limits.steal);
    }
    const auto guard = parts_.guard ? parts_.guard(lane_, limits) : nullptr;
    plan_.task = task_of(lane_);
    plan_.params = decision_params(lane_);
    plan_.seed = parts_.secret();
    plan_.logs = project_.layout.run(id) / "remeasure";
    plan_.guard = guard.get();
    const auto cost = parts_.cost ? parts_.cost(lane_) : nullptr;
    plan_.cost = cost.get();
    progress_.stage("speed: " + a.name + " against " + b.name);
    std::vector<BlockRecord> blocks = measure_pair(*launcher, a, b, plan_, progress_).blocks;
    plan_.guard = nullptr;
    plan_.cost = nullptr;
    return blocks;
  }

  const Project& project_;
  const FlowParts& parts_;
  Progress& progress_;
  Ledger ledger_;
  SessionState session_;
  LaneConfig lane_;
  json baseline_;
  PairPlan plan_;
};

}  // namespace

bool upholds(const std::string& verdict, const std::string& reason, bool confirmed) {
  if (verdict == "KEEP") return confirmed;
  const bool for_speed = verdict == "DISCARD" && (reason == "speed" || reason == "unresolved");
  return !for_speed || !confirmed;
}

std::string record_remeasure(Ledger& ledger, const std::string& session, const Attempt& attempt,
                             const std::string& because, const PairPlan& plan,
                             const std::vector<BlockRecord>& blocks, double sigma0) {
  const HeadToHead numbers = head_to_head(blocks, plan.params);
  const bool confirmed = confirms_gain(numbers, sigma0, plan.params);
  const bool upheld = upholds(attempt.verdict, attempt.reason, confirmed);
  json body = pair_body(plan, blocks);
  body["session"] = session;
  body["id"] = attempt.id;
  body["because"] = because;
  body["verdict"] = attempt.verdict;
  body["reason"] = attempt.reason;
  body["a"] = attempt.parent;
  body["b"] = attempt.commit;
  body["sigma0"] = sigma0;
  body["confirmed"] = confirmed;
  body["upheld"] = upheld;
  ledger.append("remeasure", body.dump());
  const std::string verdict =
      attempt.verdict + (attempt.reason.empty() ? "" : "(" + attempt.reason + ")");
  std::string line = verdict + " of " + attempt.id + (upheld ? " holds: " : " does not hold: ") +
                     pair_text(numbers);
  if (!upheld && attempt.verdict == "KEEP") {
    line += "; it stays the best until you go back behind it";
  }
  return line;
}

RemeasureOutcome run_remeasure_flow(const Project& project, const FlowParts& parts,
                                    const std::string& id, Progress& progress) {
  RemeasureFlow flow(project, parts, progress);
  return id == "best" ? flow.of_best() : flow.of_attempt(id);
}

}  // namespace ditar
