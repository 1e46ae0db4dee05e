#include "adversarial/judge_case.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/interrupt.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

namespace ditar {
namespace {

namespace fs = std::filesystem;

/// Variables of this process for one scope. `${CASE}` in a value is the case's folder.
class EnvironmentScope {
 public:
  EnvironmentScope(const std::map<std::string, std::string>& variables, const fs::path& folder) {
    for (const auto& [name, value] : variables) {
      const char* old = ::getenv(name.c_str());
      before_[name] = old == nullptr ? std::nullopt : std::optional<std::string>(old);
      std::string text = value;
      const std::string mark = "${CASE}";
      if (const std::size_t at = text.find(mark); at != std::string::npos) {
        text.replace(at, mark.size(), folder.string());
      }
      ::setenv(name.c_str(), text.c_str(), 1);
    }
  }
  ~EnvironmentScope() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  EnvironmentScope(const EnvironmentScope&) = delete;
  EnvironmentScope& operator=(const EnvironmentScope&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// Passes everything on; amends HEAD when the judging of quality begins.
class AmendingProgress final : public Progress {
 public:
  AmendingProgress(Progress& inner, ScratchClone& clone) : inner_(inner), clone_(clone) {}
  void stage(std::string_view name) override {
    inner_.stage(name);
    if (amended_ || name.rfind("quality", 0) != 0) return;
    amended_ = true;
    clone_.amend("another tree");
  }
  void update(std::int64_t done, std::int64_t total) override { inner_.update(done, total); }
  void note(std::string_view text) override { inner_.note(text); }
  bool amended() const { return amended_; }

 private:
  Progress& inner_;
  ScratchClone& clone_;
  bool amended_ = false;
};

/// The ledger with its last verdict turned into a KEEP, until the end of the scope.
class EditedLedger {
 public:
  explicit EditedLedger(fs::path file) : file_(std::move(file)) {
    std::ifstream stream(file_, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(stream), {});
    std::string edited = text_;
    const std::size_t at = edited.rfind("DISCARD");
    if (at == std::string::npos) throw DataError(file_.string() + " holds no DISCARD to rewrite");
    write(edited.replace(at, 7, "KEEP"));
  }
  ~EditedLedger() { write(text_); }
  EditedLedger(const EditedLedger&) = delete;
  EditedLedger& operator=(const EditedLedger&) = delete;

 private:
  void write(const std::string& text) const {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << text;
  }
  fs::path file_;
  std::string text_;
};

ExperimentRequest request_for(const AdversarialCase& one, bool again) {
  ExperimentRequest request;
  request.classification = one.classification;
  request.description = one.name + ": " + one.what;
  request.again = again;
  request.command = "dit-ar doctor --adversarial --case " + one.name;
  return request;
}

void take(CaseResult& result, const ExperimentOutcome& outcome) {
  const Attempt& attempt = outcome.attempt;
  result.verdict = attempt.verdict + (attempt.reason.empty() ? "" : "(" + attempt.reason + ")");
  result.reason = outcome.from_memory ? outcome.last_line : attempt.why;
}

void run(CaseResult& result, ScratchClone& clone, const Project& project, const FlowParts& parts,
         Progress& progress) {
  const AdversarialCase& one = result.what;
  const EnvironmentScope environment(one.environment,
                                     clone.folder() / "tests/adversarial" / one.name);
  const auto judged = [&](bool again, Progress& told) {
    take(result, run_experiment_flow(project, parts, request_for(one, again), told));
  };
  if (one.act == "amend") {
    AmendingProgress amending(progress, clone);
    const std::string commit = project.git.head();
    const ExperimentOutcome outcome =
        run_experiment_flow(project, parts, request_for(one, true), amending);
    take(result, outcome);
    result.reason = (amending.amended() && outcome.attempt.commit == commit
                         ? "the verdict is of the commit that was submitted: "
                         : "the verdict is of another commit: ") +
                    result.reason;
    return;
  }
  if (one.act == "parent-path") clone.commit_parent_path();
  judged(true, progress);
  if (one.act == "resubmit") {
    clone.amend_message("the same under another name");
    judged(false, progress);
  }
  if (one.act == "edit-ledger") {
    const EditedLedger edited(project.layout.ledger);
    judged(false, progress);
  }
}

}  // namespace

bool is_act(const std::string& act) {
  return act.empty() || act == "resubmit" || act == "amend" || act == "edit-ledger" ||
         act == "parent-path";
}

void judge_case(CaseResult& result, ScratchClone& clone, const Project& project,
                const FlowParts& parts, Progress& progress) {
  try {
    run(result, clone, project, parts, progress);
  } catch (const Error& error) {
    throw_if_interrupted();
    const bool refused =
        error.exit_code() == ExitCode::kRules || error.exit_code() == ExitCode::kData;
    result.verdict = refused ? "REFUSED" : "ERROR";
    result.reason = error.message();
  }
  const auto& expected = result.what.expected;
  const auto& because = result.what.because;
  result.as_expected =
      std::find(expected.begin(), expected.end(), result.verdict) != expected.end() &&
      (because.empty() ||
       std::any_of(because.begin(), because.end(), [&](const std::string& words) {
         return result.reason.find(words) != std::string::npos;
       }));
}

}  // namespace ditar
