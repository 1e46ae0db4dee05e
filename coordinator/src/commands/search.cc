#include "ditar/knowledge/search.h"

#include "cli/console.h"
#include "commands/support.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace ditar {
namespace {

std::vector<ExperimentNote> notes_of(const Project& project) {
  std::vector<ExperimentNote> notes;
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  for (const Attempt& attempt : attempts_of(ledger.records())) {
    if (attempt.id == "baseline") continue;
    notes.push_back({attempt.id, attempt.commit, attempt.classification, attempt.verdict,
                     attempt.description, attempt.why, attempt.cites});
  }
  return notes;
}

}  // namespace

int run_search(const GlobalOptions& global, const SearchOptions& options, Console& console) {
  const Project project = open_project(global);
  std::string text;
  for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
  Search search(project.git.root() / project.settings.handbook, project.layout.root / "search");
  search.add_experiments(notes_of(project));
  const SearchAnswer answer = search.query(text, static_cast<std::size_t>(options.limit));
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& correction : answer.corrections) console.line("spelling: " + correction);
  for (const SearchResult& result : answer.results) {
    char score[16];
    std::snprintf(score, sizeof score, "%.2f", result.score);
    console.line(std::string(score) + "  " + result.path +
                 (result.line > 0 ? ":" + std::to_string(result.line) : "") + "  " +
                 result.heading + (result.kind == "contract" ? "  [overrides]" : ""));
    console.line("      " + result.snippet);
    results.push_back({{"path", result.path},
                       {"heading", result.heading},
                       {"score", result.score},
                       {"kind", result.kind},
                       {"snippet", result.snippet},
                       {"line", result.line}});
  }
  console.line(answer.evidence);
  if (!answer.support) {
    console.line("the handbook does not support this; an experiment on it is labelled: " +
                 answer.label);
  }
  console.document({{"query", text},
                    {"support", answer.support},
                    {"label", answer.label},
                    {"evidence", answer.evidence},
                    {"corrections", answer.corrections},
                    {"results", results}});
  return 0;
}

}  // namespace ditar
