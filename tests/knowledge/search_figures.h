// The figures of the search's quality: this project's search, plain BM25 and plain grep over files,
// on sets of judged queries. Test support only.
#pragma once

#include "retrieval.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace ditar::testing {

/// One ranking on one set of queries.
struct RankingFigures {
  std::string set, kind, ranking;  ///< kind "" is the whole set
  int queries = 0;                 ///< supported ones
  double ndcg = 0.0;               ///< mean nDCG@5
  int best_first = 0;              ///< queries whose best page came first
  int unsupported = 0;             ///< queries that nothing in the handbook supports
  int false_support = 0;           ///< of those, answered as if it did
  int missed = 0;                  ///< supported ones called unsupported
};

struct QuerySet {
  std::string name;
  std::vector<JudgedQuery> queries;
};

/// Sets in tests/knowledge: "open" and "reworded" (looked at while the search was made), "held out"
/// and "fresh" (written afterwards; nobody tunes on them, so what fails in them is never listed).
std::vector<QuerySet> query_sets(const std::filesystem::path& source_dir);

/// A plain ranking has no notion of support: it answers whenever any word occurs anywhere.
std::vector<RankingFigures> measure(const std::filesystem::path& handbook,
                                    const std::vector<QuerySet>& sets);

/// One line for each query of the sets that may be looked at ("open" and "reworded") whose best
/// page is not first or whose support is judged wrongly: what was asked and what came first.
std::string list_misses(const std::filesystem::path& handbook, const std::vector<QuerySet>& sets);

nlohmann::json to_json(const std::vector<RankingFigures>& figures);
std::vector<RankingFigures> figures_from(const nlohmann::json& document);
/// The table of the handbook's page, ending in a newline.
std::string to_markdown(const std::vector<RankingFigures>& figures);

/// `page` with what stands between "<!-- record: search-quality -->" and "<!-- end -->" replaced.
/// @throws std::runtime_error if a marker is missing.
std::string with_record(const std::string& page, const std::string& table);

}  // namespace ditar::testing
