#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/knowledge/search.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

/// The shell's single quotes around any text.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void check_cites(const Project& project, const std::vector<std::string>& cites) {
  for (const std::string& cite : cites) {
    const std::string path = cite.substr(0, cite.find_first_of("#:"));
    if (!std::filesystem::exists(project.git.root() / project.settings.handbook / path) &&
        !std::filesystem::exists(project.git.root() / path)) {
      throw InvalidArgument("--cite '" + cite +
                            "' is no page of the handbook; find one with: " + "dit-ar search");
    }
  }
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
  check_cites(project, options.cite);
  ExperimentRequest request;
  request.classification = options.classification;
  request.description = options.description;
  request.expect = options.expect;
  request.cites = options.cite;
  request.again = options.again;
  request.supported = !options.cite.empty() || handbook_supports(project, options.description);
  request.command = "dit-ar experiment --classification " + options.classification +
                    " --description " + quoted(options.description);
  const ExperimentOutcome outcome =
      run_experiment_flow(project, real_parts(project), request, console);
  const Attempt& attempt = outcome.attempt;
  if (!attempt.supported) console.line("label: external/new hypothesis");
  if (attempt.speedup_percent) console.line("speed-up: " + speedup_text(attempt));
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
