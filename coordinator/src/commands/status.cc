#include "cli/console.h"
#include "commands/support.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

/// The baseline or the last KEEP: what the next candidate is measured against.
const Attempt* best_of(const std::vector<Attempt>& attempts) {
  const Attempt* best = nullptr;
  for (const Attempt& attempt : attempts) {
    if (attempt.verdict == "KEEP" || (best == nullptr && attempt.verdict == "BASELINE")) {
      best = &attempt;
    }
  }
  return best;
}

std::vector<const Attempt*> recent_failures(const std::vector<Attempt>& attempts) {
  std::vector<const Attempt*> out;
  for (auto it = attempts.rbegin(); it != attempts.rend() && out.size() < 5; ++it) {
    if (it->verdict == "DISCARD" || it->verdict == "CRASH") out.push_back(&*it);
  }
  return out;
}

/// The last measurement of original against best, as its record's numbers; null if there is none.
nlohmann::json cumulative_of(const std::vector<Record>& records, const std::string& session) {
  for (auto it = records.rbegin(); it != records.rend(); ++it) {
    if (it->type != "head-to-head") continue;
    const nlohmann::json body = nlohmann::json::parse(it->body, nullptr, false);
    if (body.value("session", "") != session) continue;
    nlohmann::json out = body.value("numbers", nlohmann::json::object());
    out["commit"] = body.value("b", "");
    return out;
  }
  return {};
}

}  // namespace

int run_status(const GlobalOptions& global, Console& console) {
  const Project project = open_project(global);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const SessionState session = require_session(project, ledger.records());
  const std::vector<Attempt> attempts = attempts_of(ledger.records(), session.id);
  const std::string best_id = best_commit(project.git, session);
  const Attempt* best = best_of(attempts);
  const WorkTreeStatus tree = project.git.status();
  const std::string next = !session.baseline                ? "dit-ar baseline"
                           : !session.open_attempts.empty() ? "dit-ar recover"
                                                            : next_step_after(attempts);
  console.line("session   " + session.id + " on " + session.branch + ", lane " + session.lane);
  console.line("best      " + best_id.substr(0, 12) +
               (best != nullptr && best->metric_seconds
                    ? "  " + seconds_text(*best->metric_seconds) + "  (" + best->id + ")"
                    : "  not measured"));
  if (best != nullptr && best->quality) {
    console.line("quality   " + quality_use_text(*best->quality) + ", against the original");
  }
  const nlohmann::json cumulative = cumulative_of(ledger.records(), session.id);
  if (!cumulative.is_null()) {
    char text[128];
    std::snprintf(text, sizeof text, "%+.2f %% [%+.2f, %+.2f]",
                  cumulative.value("speedup_percent", 0.0),
                  cumulative.value("speedup_low_percent", 0.0),
                  cumulative.value("speedup_high_percent", 0.0));
    const std::string commit = cumulative.value("commit", "");
    console.line("total     " + std::string(text) + " of " + commit.substr(0, 12) +
                 " over the original, measured side by side" +
                 (commit == best_id ? "" : "; for the best: dit-ar verify --remeasure best"));
  }
  std::string counts;
  for (const auto& [verdict, count] : session.verdicts) {
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + verdict;
  }
  console.line("verdicts  " + (counts.empty() ? "none yet" : counts));
  console.line("tree      " + std::string(tree.clean() ? "clean" : "has uncommitted changes"));
  nlohmann::json failures = nlohmann::json::array();
  for (const Attempt* attempt : recent_failures(attempts)) {
    console.line("failure   " + attempt->id + "  " + verdict_text(*attempt) + "  " +
                 attempt->description);
    failures.push_back(to_json(*attempt));
  }
  for (const OpenAttempt& open : session.open_attempts) {
    console.line("open      " + open.id + " has no verdict");
  }
  console.line("next: " + next);
  console.document({{"session", session.id},
                    {"branch", session.branch},
                    {"lane", session.lane},
                    {"best_commit", best_id},
                    {"best", best != nullptr ? to_json(*best) : nlohmann::json()},
                    {"cumulative", cumulative},
                    {"verdicts", session.verdicts},
                    {"clean", tree.clean()},
                    {"baseline", session.baseline.has_value()},
                    {"open_attempts", session.open_attempts.size()},
                    {"recent_failures", failures},
                    {"next_step", next}});
  return 0;
}

}  // namespace ditar
