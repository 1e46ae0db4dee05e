#include "cli/console.h"
#include "commands/support.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace ditar {
namespace {

nlohmann::json read_receipt(const Project& project, const Attempt& attempt) {
  if (attempt.receipt.empty()) return {};
  std::ifstream file(project.git.root() / attempt.receipt);
  if (!file) return {};
  return nlohmann::json::parse(file, nullptr, false);
}

/// What the coordinator itself took beside the build and the workers.
std::string overhead_text(const nlohmann::json& receipt) {
  const auto seconds = receipt.find("seconds");
  if (seconds == receipt.end() || !seconds->contains("overhead")) return {};
  char text[64];
  std::snprintf(text, sizeof text, "%.2f s beside build and workers",
                seconds->value("overhead", 0.0));
  return text;
}

void print(const Attempt& attempt, Console& console) {
  const auto field = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) console.line(name + std::string(16 - name.size(), ' ') + value);
  };
  field("id", attempt.id);
  field("verdict", verdict_text(attempt));
  field("why", attempt.why);
  field("commit", attempt.commit);
  field("parent", attempt.parent);
  field("lane", attempt.lane);
  field("classification", attempt.classification);
  field("outputs show", attempt.audited_class);
  for (const std::string& finding : attempt.audit) field("audit", finding);
  if (attempt.quality) field("quality used", quality_use_text(*attempt.quality));
  field("description", attempt.description);
  field("expected", attempt.expect);
  field("measured shift", attempt.phase_shift);
  for (const std::string& page : attempt.cites) field("cites", page);
  if (!attempt.supported) field("label", "external/new hypothesis");
  if (attempt.metric_seconds) field("metric", seconds_text(*attempt.metric_seconds));
  if (attempt.speedup_percent) field("speed-up", speedup_text(attempt));
  field("next step", attempt.next_step);
  field("receipt", attempt.receipt);
}

}  // namespace

int run_show(const GlobalOptions& global, const ShowOptions& options, Console& console) {
  const Project project = open_project(global);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const std::vector<Attempt> attempts = attempts_of(ledger.records());
  const Attempt& attempt = find_attempt(attempts, options.id);
  print(attempt, console);
  const nlohmann::json receipt = read_receipt(project, attempt);
  if (const std::string text = overhead_text(receipt); !text.empty()) {
    console.line("overhead        " + text);
  }
  if (console.json()) {
    nlohmann::json document = to_json(attempt);
    document["receipt_content"] = receipt;
    console.document(document);
  } else if (!attempt.parent.empty() && attempt.id != "baseline") {
    console.line("");
    console.line(project.git.diff_text(project.git.tree_of(attempt.parent),
                                       project.git.tree_of(attempt.commit)));
  }
  return 0;
}

int run_compare(const GlobalOptions& global, const CompareOptions& options, Console& console) {
  const Project project = open_project(global);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const std::vector<Attempt> attempts = attempts_of(ledger.records());
  const Attempt& first = find_attempt(attempts, options.first);
  const Attempt& second = find_attempt(attempts, options.second);
  console.line("-- first");
  print(first, console);
  console.line("-- second");
  print(second, console);
  if (first.lane != second.lane) {
    console.line("their lanes differ: their figures cannot be compared");
  } else {
    console.line("figures of different runs are not a comparison; only a paired run is");
  }
  console.document({{"first", to_json(first)},
                    {"second", to_json(second)},
                    {"comparable_lanes", first.lane == second.lane}});
  return 0;
}

}  // namespace ditar
