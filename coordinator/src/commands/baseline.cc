#include "cli/console.h"
#include "commands/support.h"
#include "ditar/coordinator/experiment_flow.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace ditar {

int run_baseline(const GlobalOptions& global, const BaselineOptions&, Console& console) {
  const Project project = open_project(global);
  const BaselineOutcome outcome = run_baseline_flow(project, real_parts(project), console);
  char noise[96];
  std::snprintf(noise, sizeof noise, "%.3f %% a block; a gain of %.2f %% is seen 8 times in 10",
                100.0 * outcome.noise.sigma0, outcome.detectable_percent);
  console.line("baseline  " + outcome.commit.substr(0, 12));
  console.line("metric    " + outcome.metric_text + " (median)");
  console.line("scores    " + outcome.scores_json);
  console.line(std::string("noise     ") + noise);
  console.line("took      " + seconds_text(outcome.seconds));
  console.line(
      "next: edit a mutable path, commit it, then dit-ar experiment --classification exact "
      "--description \"...\"");
  console.document({{"commit", outcome.commit},
                    {"metric_seconds", outcome.metric_seconds},
                    {"metric", outcome.metric_text},
                    {"scores", nlohmann::json::parse(outcome.scores_json)},
                    {"sigma0", outcome.noise.sigma0},
                    {"detectable_percent", outcome.detectable_percent},
                    {"seconds", outcome.seconds}});
  return 0;
}

}  // namespace ditar
