// What speaks beside the outputs about a change's class (K5): compiler flags, operations and FLOPs
// of a request as the workers count them. Notes beside a verdict, never the verdict: the counts are
// the candidate's own word. Pure.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/coordinator/build_flags.h"

#include <string>
#include <vector>

namespace ditar {

struct ClassAuditInput {
  std::string claimed, shown;  ///< classes; shown may be empty: not audited
  BuildFlags best, candidate;  ///< of the two builds
  std::vector<RankReport> ranks_best, ranks_candidate;  ///< of one timed request each; may be empty
};

/// One sentence per finding, at most eight; empty: nothing differs.
std::vector<std::string> class_audit(const ClassAuditInput& input);

}  // namespace ditar
