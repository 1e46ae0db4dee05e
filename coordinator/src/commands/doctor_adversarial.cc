// doctor --adversarial: known cheats must be caught, honest changes judged right.
#include "cli/console.h"
#include "commands/doctor_checks.h"
#include "commands/support.h"
#include "ditar/config/exit_codes.h"
#include "ditar/coordinator/adversarial.h"
#include "ditar/coordinator/isolation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

nlohmann::json json_of(const CaseResult& result) {
  return {{"name", result.what.name},
          {"kind", result.what.kind},
          {"what", result.what.what},
          {"classification", result.what.classification},
          {"expected", result.what.not_run.empty() ? joined(result.what.expected) : "not_run"},
          {"verdict", result.verdict},
          {"reason", result.reason},
          {"as_expected", result.as_expected},
          {"seconds", std::round(result.seconds * 10.0) / 10.0}};
}

/// One row of the table, which is Markdown.
std::string row_of(const CaseResult& result) {
  const std::string expected =
      result.what.not_run.empty() ? joined(result.what.expected) : "not_run";
  std::string what = result.what.what;
  std::replace(what.begin(), what.end(), '|', '/');
  return "| " + result.what.name + " | " + what + " | " + expected + " | " + result.verdict +
         " | " + (result.as_expected ? "yes" : "NO: " + result.reason) + " |";
}

}  // namespace

int run_adversarial(const GlobalOptions& global, const DoctorOptions& options, Console& console) {
  const Project project = open_project(global);
  if (options.table) {
    for (const std::string& line :
         case_table(read_cases(project.git.root() / "tests/adversarial"))) {
      console.line(line);
    }
    console.document({{"adversarial", {{"cases", nlohmann::json::array()}}}});
    return 0;
  }
  const Isolation isolation = find_isolation();
  console.line("trust level " + to_string(trust_level(isolation)) + ", layers " + isolation.layers);
  console.line("| case | what it does | expected | verdict | as expected |");
  console.line("|---|---|---|---|---|");
  const std::vector<CaseResult> results =
      run_adversarial_suite(project, options.cases, console,
                            [&](const CaseResult& result) { console.line(row_of(result)); });
  nlohmann::json cases = nlohmann::json::array();
  int right = 0, run = 0;
  for (const CaseResult& result : results) {
    cases.push_back(json_of(result));
    if (!result.what.not_run.empty()) continue;
    ++run;
    right += result.as_expected ? 1 : 0;
  }
  console.line(std::to_string(right) + " of " + std::to_string(run) + " as expected, " +
               std::to_string(results.size() - static_cast<std::size_t>(run)) + " not run");
  console.document({{"adversarial",
                     {{"trust", to_string(trust_level(isolation))},
                      {"layers", isolation.layers},
                      {"as_expected", right},
                      {"run", run},
                      {"cases", cases}}}});
  return right == run ? 0 : to_int(ExitCode::kFailure);
}

}  // namespace ditar
