// The adversarial suite: known cheats and honest changes, each a real commit that is built and
// judged through the whole path in a scratch clone. What each is to get was written down
// beforehand, in tests/adversarial/<name>/case.json; a miss is reported, never forgiven. One run at
// a time.
#pragma once

#include "ditar/coordinator/progress.h"
#include "ditar/coordinator/project.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ditar {

/// An edit of one file: `find` (must occur once) becomes `replace`, or `append` goes to its end.
struct CaseEdit {
  std::string file, find, replace, append;
};

/// One case as its folder tells.
struct AdversarialCase {
  std::string name;  ///< of the folder
  std::string what;  ///< one sentence
  std::string kind;  ///< "cheat" or "honest"
  std::string classification;
  std::vector<std::string> expected;  ///< "DISCARD(quality)", "REFUSED", ...: any of them is right
  std::vector<std::string> because;   ///< the verdict's sentence holds one of these
  std::string not_run;                ///< why it cannot run on the CPU lane; empty: it can
  std::vector<CaseEdit> edits;
  std::map<std::string, std::string> knobs;  ///< engine.json: name to JSON value
  std::map<std::string, std::string> links;  ///< symlink to its target
  /// Of dit-ar itself while it judges; ${CASE} in a value is the case's folder in the clone.
  std::map<std::string, std::string> environment;
  std::string act;     ///< what the submitter does beside the commit; empty: nothing
  std::string engine;  ///< text of engine.cc: a wrapper spliced in front of make_engine()
};

/// All cases below `folder`, cheats first, honest ones last, each by name.
/// @throws DataError naming file and key for what does not fit.
std::vector<AdversarialCase> read_cases(const std::filesystem::path& folder);

/// The Markdown table "case, what it does, flagged by, verdict" of the cases, line by line.
std::vector<std::string> case_table(const std::vector<AdversarialCase>& cases);

/// What became of one.
struct CaseResult {
  AdversarialCase what;
  std::string verdict;  ///< "DISCARD(quality)"; "not_run"
  std::string reason;   ///< why, in one sentence
  bool as_expected = false;
  double seconds = 0.0;
};

/// Clones HEAD of `project` into .autoresearch/adversarial, starts a session there, measures its
/// baseline and judges the cases. Empty `names`: all. `done` hears each result at once. Blocks for
/// many minutes. @throws InvalidArgument naming an unknown case; Error (exit 75) if the machine is
/// too noisy for a baseline.
std::vector<CaseResult> run_adversarial_suite(const Project& project,
                                              const std::vector<std::string>& names,
                                              Progress& progress,
                                              const std::function<void(const CaseResult&)>& done);

}  // namespace ditar
