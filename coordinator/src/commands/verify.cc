#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "experiment/remeasure.h"
#include "experiment/verify_records.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

int remeasure(const Project& project, const std::string& id, Console& console) {
  if (id.empty()) {
    throw InvalidArgument("--remeasure needs an experiment: dit-ar verify --remeasure last");
  }
  const RemeasureOutcome outcome = run_remeasure_flow(project, real_parts(project), id, console);
  console.line(outcome.line);
  console.document({{"id", outcome.id}, {"upheld", outcome.upheld}, {"finding", outcome.line}});
  return 0;
}

}  // namespace

int run_verify(const GlobalOptions& global, const VerifyOptions& options, Console& console) {
  const Project project = open_project(global);
  if (options.remeasure) return remeasure(project, options.id, console);
  const LedgerCheck chain = verify_chain(project.layout.ledger);
  if (!chain.intact()) throw DataError("the ledger is damaged: " + chain.fault);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const std::vector<Attempt> attempts = attempts_of(ledger.records());
  const std::string wanted = options.id.empty() ? "" : find_attempt(attempts, options.id).id;
  nlohmann::json faults = nlohmann::json::array();
  int checked = 0, verdicts = 0;
  for (const VerifiedRecord& record :
       verify_records(ledger.records(), project.git.root(), wanted)) {
    ++checked;
    verdicts += record.type == "verdict";
    for (const std::string& fault : record.faults) {
      console.line(record.id + " (" + record.type + ", record " + std::to_string(record.seq) +
                   "): " + fault);
      faults.push_back(
          {{"id", record.id}, {"type", record.type}, {"seq", record.seq}, {"fault", fault}});
    }
  }
  console.line(std::to_string(chain.records) + " records in a good chain, " +
               std::to_string(checked) + " measurements computed again (" +
               std::to_string(verdicts) + " verdicts), " + std::to_string(faults.size()) +
               " differences");
  console.document({{"records", chain.records},
                    {"head_hash", chain.head_hash},
                    {"measurements", checked},
                    {"verdicts", verdicts},
                    {"faults", faults}});
  return faults.empty() ? 0 : to_int(ExitCode::kData);
}

}  // namespace ditar
