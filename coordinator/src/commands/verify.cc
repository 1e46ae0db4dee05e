#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "experiment/records.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace ditar {
namespace {

/// Decides again from the raw figures. @return what differs; empty if nothing does.
std::string difference(const Project& project, const nlohmann::json& body) {
  const std::filesystem::path file = project.git.root() / body.value("receipt", "");
  if (!std::filesystem::is_regular_file(file)) return "its receipt is missing";
  if (sha256_file(file) != body.value("receipt_sha256", "")) {
    return "its receipt is not the one that the ledger names";
  }
  std::ifstream stream(file);
  const nlohmann::json receipt = nlohmann::json::parse(stream, nullptr, false);
  if (receipt.is_discarded()) return "its receipt " + file.string() + " is not JSON";
  if (!receipt.contains("decision")) return {};
  Evidence evidence;
  evidence.sigma0 = receipt.at("sigma0");
  evidence.test_index = receipt.at("test_index");
  evidence.keeps_before = receipt.at("keeps_before");
  evidence.control_after = receipt.at("control_after");
  evidence.controls_before = receipt.at("controls_before").get<std::vector<double>>();
  evidence.blocks = blocks_from(receipt.at("blocks"));
  const Decision again = decide(evidence, params_from(receipt.at("parameters")));
  const std::string stored = receipt.at("decision").value("outcome", "");
  if (to_string(again.outcome) != stored) {
    return "its figures decide " + std::string(to_string(again.outcome)) + ", it says " + stored;
  }
  return {};
}

}  // namespace

int run_verify(const GlobalOptions& global, const VerifyOptions& options, Console& console) {
  const Project project = open_project(global);
  const LedgerCheck chain = verify_chain(project.layout.ledger);
  if (!chain.intact()) throw DataError("the ledger is damaged: " + chain.fault);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const std::vector<Attempt> attempts = attempts_of(ledger.records());
  const std::string wanted = options.id.empty() ? "" : find_attempt(attempts, options.id).id;
  nlohmann::json faults = nlohmann::json::array();
  int checked = 0;
  for (const Record& record : ledger.records()) {
    if (record.type != "verdict") continue;
    const nlohmann::json body = nlohmann::json::parse(record.body);
    const std::string id = body.value("id", "");
    if (!wanted.empty() && id != wanted) continue;
    ++checked;
    const std::string fault = difference(project, body);
    if (fault.empty()) continue;
    console.line(id + ": " + fault);
    faults.push_back({{"id", id}, {"fault", fault}});
  }
  console.line(std::to_string(chain.records) + " records in a good chain, " +
               std::to_string(checked) + " verdicts checked, " + std::to_string(faults.size()) +
               " differ");
  console.document({{"records", chain.records}, {"verdicts", checked}, {"faults", faults}});
  return faults.empty() ? 0 : to_int(ExitCode::kData);
}

}  // namespace ditar
