// check: the working tree as it is, committed or not: path rules, build, one request. Records
// nothing and spends nothing of the campaign's error budget.
#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/subprocess.h"
#include "ditar/coordinator/suite_runner.h"
#include "experiment/baseline_store.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

/// Id of the tree that the working files would make, through an index of its own: the user's index
/// and checkout stay as they are.
std::string working_tree_id(const Project& project) {
  const std::filesystem::path index = project.layout.root / "check.index";
  std::error_code ignored;
  std::filesystem::remove(index, ignored);
  std::string tree;
  for (const std::vector<std::string>& step :
       {std::vector<std::string>{"read-tree", "HEAD"}, {"add", "-A", "--", "."}, {"write-tree"}}) {
    ProcessSpec spec;
    spec.program = find_program("git");
    spec.arguments = {"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
                      "-c", "core.autocrlf=false"};
    spec.arguments.insert(spec.arguments.end(), step.begin(), step.end());
    spec.environment = {{"GIT_INDEX_FILE", index.string()},
                        {"GIT_CONFIG_NOSYSTEM", "1"},
                        {"GIT_CONFIG_GLOBAL", "/dev/null"},
                        {"LC_ALL", "C"}};
    spec.directory = project.git.root();
    const ProcessResult result = run_process(spec);
    if (!result.ok()) throw IoError("git " + step.front() + " failed: " + result.errors);
    tree = result.output.substr(0, result.output.find('\n'));
  }
  std::filesystem::remove(index, ignored);
  return tree;
}

void smoke(const Project& project, const FlowParts& parts, const LaneConfig& lane,
           const BuildResult& build) {
  const Task task = task_of(lane);
  LoadedWorker worker =
      parts.launcher(lane)->start(arm_of("check", build, project.settings.engine_knobs),
                                  {"", 0, project.layout.root / "check"});
  const RunResult result = worker.session->run(suite_request(task, kSuiteSeed, 0));
  worker.session->stop();
  for (const float value : result.latents) {
    if (!std::isfinite(value)) throw DataError("check: the output has a value that is not finite");
  }
}

/// The same project, with one request held to budgets.check_seconds.
Project within_check_time(Project project) {
  LaunchSettings& launch = project.settings.launch;
  for (int* seconds : {&launch.hello_seconds, &launch.load_seconds, &launch.progress_seconds,
                       &launch.run_seconds}) {
    *seconds = std::min(*seconds, project.settings.budgets.check_seconds);
  }
  return project;
}

}  // namespace

int run_check(const GlobalOptions& global, const CheckOptions& options, Console& console) {
  const Project project = within_check_time(open_project(global));
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const SessionState session = require_session(project, ledger.records());
  const LaneConfig& lane = project.settings.lane(session.lane);
  std::filesystem::create_directories(project.layout.root);
  const std::string tree = working_tree_id(project);
  const std::string best = project.git.tree_of(best_commit(project.git, session));
  const std::vector<std::string> faults =
      change_faults(project.git.diff_trees(best, tree), project.settings.paths);
  if (!faults.empty()) throw Error("check: " + faults.front(), ExitCode::kRules);
  console.line("paths     every change lies in mutable_paths");
  if (options.build) {
    const FlowParts parts = real_parts(project);
    console.stage("build");
    const BuildResult build = parts.build(lane, tree);
    if (!build.ok) throw Error("check: build: " + build.first_error, ExitCode::kFailure);
    console.line("build     " + seconds_text(build.seconds));
    console.stage("one request");
    smoke(project, parts, lane, build);
    console.line("request   answered, every value finite");
  }
  console.document({{"ok", true}, {"tree", tree}, {"built", options.build}});
  return 0;
}

}  // namespace ditar
