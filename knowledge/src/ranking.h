// Scores candidates of one query and decides whether the handbook supports it. Private to
// ditar::knowledge.
#pragma once

#include "index.h"
#include "query_plan.h"

#include <xapian.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

struct Candidate {
  StoredPassage passage;
  double score = 0.0;       ///< in (0, 1]
  double coverage = 0.0;    ///< share of the query's information that this passage holds
  std::vector<bool> found;  ///< per segment
};

struct PageScore {
  double score = 0.0;     ///< in (0, 1], against the best page
  double coverage = 0.0;  ///< share of the query's information that the page holds
  double title = 0.0;     ///< share that its title holds
  double summary = 0.0;   ///< share that its summary holds
};

/// How much of each segment the document's terms with `prefix` hold, in [0, 1].
std::vector<double> segment_hits(const QueryPlan& plan, const Xapian::Database& database,
                                 Xapian::docid document, std::string_view prefix = {});

/// Share of the query's information in `hits`, weighted by idf.
double coverage_of(const QueryPlan& plan, const std::vector<double>& hits);

std::map<std::string, PageScore> score_pages(const QueryPlan& plan, const Xapian::Database& pages);

/// Best first; further passages of a page already shown count less, so that pages vary.
std::vector<Candidate> rank_passages(const QueryPlan& plan, const Xapian::Database& passages,
                                     const std::map<std::string, PageScore>& pages);

/// True where a passage together with its page holds enough of what was asked.
bool is_supported(const QueryPlan& plan, const std::vector<Candidate>& ranked,
                  const std::map<std::string, PageScore>& pages);

/// The line of `text` that holds most of what was asked, at most 240 bytes.
std::string make_snippet(const std::string& text, const QueryPlan& plan,
                         const Thesaurus& thesaurus);

}  // namespace ditar::knowledge
