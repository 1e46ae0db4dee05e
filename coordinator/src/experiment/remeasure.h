// A recorded verdict measured once more: both commits are rebuilt from their refs and run side by
// side on fresh blocks. The verdict on record never changes; what was found is recorded beside it.
#pragma once

#include "ditar/coordinator/attempts.h"
#include "ditar/coordinator/experiment_flow.h"
#include "experiment/pair_run.h"

#include <string>
#include <vector>

namespace ditar {

/// A KEEP is upheld if the pair would be confirmed again; a discard for its speed if it would not;
/// any other verdict says nothing about speed and is always upheld by it.
bool upholds(const std::string& verdict, const std::string& reason, bool confirmed);

/// Appends a "remeasure" record {session, id, because, verdict, reason, upheld, confirmed, sigma0,
/// ...}. @return a sentence for a person.
std::string record_remeasure(Ledger& ledger, const std::string& session, const Attempt& attempt,
                             const std::string& because, const PairPlan& plan,
                             const std::vector<BlockRecord>& blocks, double sigma0);

struct RemeasureOutcome {
  std::string id;
  bool upheld = true;
  std::string line;  ///< what was found, one sentence
};

/// Rebuilds and measures the experiment `id` of this session against its parent, or the best
/// against the original for "best" (the cumulative gain). Blocks; takes the ledger's lock.
/// @throws Error (exit 67) without a baseline; Error (exit 75) if the machine is at fault.
RemeasureOutcome run_remeasure_flow(const Project& project, const FlowParts& parts,
                                    const std::string& id, Progress& progress);

}  // namespace ditar
