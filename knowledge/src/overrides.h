// The contract page's own list of advice that it overrides: lines "*Overrides:* term, term" under
// a heading. Private to ditar::knowledge.
#pragma once

#include "index.h"
#include "query_plan.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ditar::knowledge {

class OverrideTable {
 public:
  OverrideTable(const HandbookFiles& files, const Thesaurus& thesaurus);

  /// The contract passage that speaks to this query: most trigger words met, longest phrase first.
  std::optional<StoredPassage> find(const QueryPlan& plan) const;

 private:
  struct Rule {
    StoredPassage passage;
    std::vector<std::vector<std::string>> phrases;  ///< English stems
    std::set<int> concepts;
  };
  std::vector<Rule> rules_;
};

}  // namespace ditar::knowledge
