// One case of the suite, judged: its commit as an experiment, and what its submitter does beside
// it. Private to coordinator/src/adversarial.
#pragma once

#include "adversarial/scratch_clone.h"
#include "ditar/coordinator/adversarial.h"
#include "ditar/coordinator/experiment_flow.h"

namespace ditar {

/// Judges the case whose commit is HEAD of `clone`; fills verdict, reason and as_expected. A case
/// with an `act` is judged by what comes after the act:
///   resubmit      the same change once more, as another commit under another message
///   amend         HEAD is amended to another tree while the commit is judged
///   edit-ledger   its verdict is rewritten in the ledger, then it is submitted again
///   parent-path   its tree gets an entry ".."
void judge_case(CaseResult& result, ScratchClone& clone, const Project& project,
                const FlowParts& parts, Progress& progress);

/// Whether `act` is one of the above or empty.
bool is_act(const std::string& act);

}  // namespace ditar
