#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

namespace ditar {

int run_discard(const GlobalOptions& global, Console& console) {
  const Project project = open_project(global);
  Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kWrite);
  const SessionState session = require_session(project, ledger.records());
  const std::string head = project.git.head();
  const std::string best = best_commit(project.git, session);
  if (head == best) {
    console.line("HEAD is the lane's best already; nothing to discard");
    console.document({{"discarded", false}, {"head", head}});
    return 0;
  }
  const WorkTreeStatus tree = project.git.status();
  if (!tree.changed.empty()) {
    throw Error("'" + tree.changed.front() +
                    "' has uncommitted changes that a reset would lose; commit them or undo them: "
                    "git checkout -- <path>",
                ExitCode::kRules);
  }
  std::string id = "discarded-" + head.substr(0, 12);
  for (const Attempt& attempt : attempts_of(ledger.records(), session.id)) {
    if (attempt.commit == head) id = attempt.id;
  }
  const std::string ref = archive_commit(project.git, session, id, head);
  ledger.append("note", nlohmann::json{{"session", session.id},
                                       {"what", "discard"},
                                       {"commit", head},
                                       {"archive", ref},
                                       {"back_to", best}}
                            .dump());
  project.git.reset_hard(best, head, ref);
  console.line("archived  " + head.substr(0, 12) + " as " + ref);
  console.line("HEAD is   " + best.substr(0, 12) + ", the lane's best");
  console.document({{"discarded", true}, {"archive", ref}, {"commit", head}, {"head", best}});
  return 0;
}

int run_recover(const GlobalOptions& global, Console& console) {
  const Project project = open_project(global);
  Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kWrite);
  const SessionState session = require_session(project, ledger.records());
  const std::vector<OpenAttempt> closed =
      recover_session(ledger, session, "the run ended before its verdict");
  if (!ledger.sealed_tail().empty()) {
    console.line("sealed a torn last line of the ledger: " + ledger.sealed_tail().string());
  }
  nlohmann::json ids = nlohmann::json::array();
  for (const OpenAttempt& attempt : closed) {
    console.line("closed    " + attempt.id + " (" + attempt.commit.substr(0, 12) +
                 ") as abandoned; run it again with: dit-ar experiment ...");
    ids.push_back(attempt.id);
  }
  refresh_results(project, ledger.records());
  if (closed.empty()) console.line("nothing was open");
  console.document({{"closed", ids}, {"sealed_tail", ledger.sealed_tail().string()}});
  return 0;
}

}  // namespace ditar
