// The experiments of a session as its records tell them, for tables and next steps. Pure.
#pragma once

#include "ditar/coordinator/ledger.h"
#include "ditar/coordinator/quality_budget.h"
#include "ditar/coordinator/results_table.h"
#include "ditar/coordinator/session.h"

#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// One experiment (or the baseline). Numbers are absent where they were not measured.
struct Attempt {
  std::string id, session, lane, commit, parent, change_id;
  std::string classification, description, expect;
  std::vector<std::string> cites;
  bool supported = true;  ///< the handbook supports the idea
  std::string verdict;    ///< KEEP, DISCARD, CRASH, RETRY; "" while open; "ABANDONED"
  std::string reason;     ///< the word in parentheses: speed, quality, class, build, ...
  std::string why;        ///< one sentence
  std::string next_step;
  std::string phase_shift;  ///< measured, against the best: "attention 18.2 % -> 12.1 %, ..."
  std::optional<double> metric_seconds, memory_bytes, speedup_percent, low_percent, high_percent;
  std::string audited_class;
  std::vector<std::string> audit;     ///< what else speaks about the class, one sentence each
  std::optional<QualityUse> quality;  ///< against the original
  std::string receipt;                ///< path relative to the git root
  std::int64_t t_wall_ns = 0;
};

/// Attempts of every session in the order of their intents; baselines come as id "baseline".
std::vector<Attempt> attempts_of(const std::vector<Record>& records);
/// Those of one session.
std::vector<Attempt> attempts_of(const std::vector<Record>& records, const std::string& session);

/// Rows for results.tsv; open and abandoned attempts and RETRY have none.
std::vector<ResultRow> result_rows(const std::vector<Attempt>& attempts);

/// The attempt named by its id, the end of it ("7"), a commit prefix or "last".
/// @throws InvalidArgument naming the nearest if there is none or it is ambiguous.
const Attempt& find_attempt(const std::vector<Attempt>& attempts, const std::string& name);

/// How often a crashed commit may be mended (git commit --amend) and run again.
inline constexpr int kMendsOfACrash = 2;
/// CRASHes so far of one hypothesis: this description on this parent.
int crashes_of(const std::vector<Attempt>& attempts, const std::string& parent,
               const std::string& description);
/// What to do after a CRASH, a whole sentence. `crashes` counts this one.
std::string step_after_crash(const std::string& reason, int crashes);

/// Ladder rungs of the exact class that no experiment of the session names yet, in order.
std::vector<std::string> untried_exact_rungs(const std::vector<Attempt>& attempts);
/// The one thing to do next, a whole sentence.
std::string next_step_after(const std::vector<Attempt>& attempts);

/// "1.234 ms", "12.3 s" and the like for a person.
std::string seconds_text(double seconds);

}  // namespace ditar
