#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/config/json_document.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/report.h"
#include "ditar/knowledge/search.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ditar {
namespace {

/// The shell's single quotes around any text.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The command line that runs the same experiment again.
std::string same_command(const GlobalOptions& global, const ExperimentOptions& options) {
  std::string out = "dit-ar";
  if (!global.config.empty()) out += " --config " + quoted(global.config);
  out += " experiment --classification " + options.classification + " --description " +
         quoted(options.description);
  if (!options.expect.empty()) out += " --expect " + quoted(options.expect);
  for (const std::string& cite : options.cite) out += " --cite " + quoted(cite);
  return out + (options.again ? " --again" : "");
}

/// The cited pages by their one name, relative to the handbook's folder.
std::vector<std::string> pages_cited(const Project& project,
                                     const std::vector<std::string>& cites) {
  std::vector<std::string> pages;
  const std::vector<std::string> known =
      handbook_pages(project.git.root() / project.settings.handbook);
  for (const std::string& cite : cites) {
    const std::string page = page_of_cite(cite, project.settings.handbook);
    if (std::find(known.begin(), known.end(), page) == known.end()) {
      const std::string near = nearest_word(page, known);
      throw InvalidArgument("--cite '" + cite + "' is no page of the handbook" +
                            (near.empty() ? "" : "; did you mean '" + near + "'?") +
                            " Find pages with: dit-ar search");
    }
    if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
  }
  return pages;
}

bool handbook_supports(const Project& project, const std::string& description) {
  const Search search(project.git.root() / project.settings.handbook,
                      project.layout.root / "search");
  return search.query(description, 1).support;
}

}  // namespace

int run_experiment(const GlobalOptions& global, const ExperimentOptions& options,
                   Console& console) {
  const Project project = open_project(global);
  ExperimentRequest request;
  request.classification = options.classification;
  request.description = options.description;
  request.expect = options.expect;
  request.cites = pages_cited(project, options.cite);
  request.again = options.again;
  request.supported = !request.cites.empty() || handbook_supports(project, options.description);
  request.command = same_command(global, options);
  const ExperimentOutcome outcome =
      run_experiment_flow(project, real_parts(project), request, console);
  const Attempt& attempt = outcome.attempt;
  if (!attempt.supported) console.line("label: external/new hypothesis");
  if (attempt.speedup_percent) console.line("speed-up: " + speedup_text(attempt));
  if (!attempt.expect.empty()) console.line("expected: " + attempt.expect);
  if (!attempt.phase_shift.empty()) console.line("measured shift: " + attempt.phase_shift);
  console.line("why: " + attempt.why);
  console.line("would have changed it: " + outcome.would_change);
  console.line("receipt: " + attempt.receipt);
  console.line("next: " + attempt.next_step);
  console.line(outcome.last_line);
  nlohmann::json document = to_json(attempt);
  document["would_change"] = outcome.would_change;
  document["last_line"] = outcome.last_line;
  document["from_memory"] = outcome.from_memory;
  console.document(document);
  return attempt.verdict == "RETRY" ? to_int(ExitCode::kTemporary) : 0;
}

}  // namespace ditar
