#include "adversarial/judge_case.h"
#include "adversarial/scratch_clone.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/interrupt.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr int kBaselineTries = 3;

std::vector<AdversarialCase> chosen(std::vector<AdversarialCase> cases,
                                    const std::vector<std::string>& names) {
  if (names.empty()) return cases;
  for (const std::string& name : names) {
    const bool known = std::any_of(cases.begin(), cases.end(),
                                   [&](const AdversarialCase& one) { return one.name == name; });
    std::string all;
    for (const AdversarialCase& one : cases) all += " " + one.name;
    require(known, "there is no adversarial case '" + name + "'; there are:" + all);
  }
  std::erase_if(cases, [&](const AdversarialCase& one) {
    return std::find(names.begin(), names.end(), one.name) == names.end();
  });
  return cases;
}

void measure_baseline(const Project& project, const FlowParts& parts, Progress& progress) {
  for (int attempt = 1;; ++attempt) {
    try {
      (void)run_baseline_flow(project, parts, progress);
      return;
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kTemporary || attempt == kBaselineTries) throw;
      throw_if_interrupted();
      progress.note(error.message());
    }
  }
}

}  // namespace

std::vector<CaseResult> run_adversarial_suite(const Project& project,
                                              const std::vector<std::string>& names,
                                              Progress& progress,
                                              const std::function<void(const CaseResult&)>& done) {
  const fs::path sources = "tests/adversarial";
  (void)chosen(read_cases(project.git.root() / sources), names);  // refuses a wrong name early
  ScratchClone clone(project.git.root(), project.layout.root / "adversarial");
  const Project scratch = Project::open(clone.folder(), "");
  const std::vector<AdversarialCase> cases = chosen(read_cases(clone.folder() / sources), names);
  std::ifstream shared(clone.folder() / sources / "wrapped_engine.h");
  const std::string shared_engine{std::istreambuf_iterator<char>(shared), {}};
  {
    Ledger ledger = Ledger::open(scratch.layout.root, LedgerMode::kWrite);
    bool created = false;
    (void)init_session(scratch.git, ledger, scratch.settings,
                       scratch.settings.default_lane("", 0).name, created);
    scratch.layout.create();
  }
  const FlowParts parts = real_parts(scratch);
  const bool any = std::any_of(cases.begin(), cases.end(),
                               [](const AdversarialCase& one) { return one.not_run.empty(); });
  if (any) measure_baseline(scratch, parts, progress);
  std::vector<CaseResult> results;
  for (const AdversarialCase& one : cases) {
    throw_if_interrupted();
    CaseResult result;
    result.what = one;
    const auto start = Clock::now();
    if (one.not_run.empty()) {
      progress.note("case " + one.name);
      clone.reset();
      clone.commit(one, shared_engine);
      judge_case(result, clone, scratch, parts, progress);
    } else {
      result.verdict = "not_run";
      result.reason = one.not_run;
      result.as_expected = true;
    }
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    done(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace ditar
