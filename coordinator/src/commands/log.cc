#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace ditar {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string row_text(const Attempt& attempt) {
  char text[160];
  std::snprintf(text, sizeof text, "%-14s %-8.7s %-22s %-12s %10s  ", attempt.id.c_str(),
                attempt.commit.c_str(), verdict_text(attempt).c_str(),
                attempt.classification.c_str(), speedup_text(attempt).c_str());
  return text + attempt.description;
}

}  // namespace

int run_log(const GlobalOptions& global, const LogOptions& options, Console& console) {
  const Project project = open_project(global);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const SessionState session = require_session(project, ledger.records());
  std::vector<Attempt> attempts = attempts_of(ledger.records(), session.id);
  if (!options.status.empty()) {
    const std::string wanted = upper(options.status);
    if (wanted != "KEEP" && wanted != "DISCARD" && wanted != "CRASH") {
      throw InvalidArgument("--status '" + options.status + "': use keep, discard or crash");
    }
    std::erase_if(attempts, [&](const Attempt& a) { return a.verdict != wanted; });
  }
  const auto skipped =
      std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(attempts.size()) - options.limit);
  attempts.erase(attempts.begin(), attempts.begin() + skipped);
  nlohmann::json rows = nlohmann::json::array();
  for (const Attempt& attempt : attempts) {
    console.line(row_text(attempt));
    rows.push_back(to_json(attempt));
  }
  if (attempts.empty()) console.line("no experiment yet");
  console.document({{"session", session.id}, {"experiments", rows}, {"left_out", skipped}});
  return 0;
}

}  // namespace ditar
