// Search quality on judged queries. Every third query is held out: weights and word lists were
// chosen while looking at the others only; both parts are reported and both must pass.
#include "ditar/knowledge/search.h"
#include "retrieval.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>

namespace ditar::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DITAR_SOURCE_DIR;
const fs::path kHandbook = kSource / "knowledge" / "handbook";

struct Tally {
  double ndcg = 0.0;
  int first = 0;
  int count = 0;
  double mean() const { return count ? ndcg / count : 0.0; }
  double first_share() const { return count ? static_cast<double>(first) / count : 0.0; }
  void add(const JudgedQuery& query, const std::vector<std::string>& paths) {
    ndcg += ndcg_at_5(query, paths);
    first += best_first(query, paths);
    ++count;
  }
};

std::vector<std::string> paths_of(const SearchAnswer& answer) {
  std::vector<std::string> out;
  for (const SearchResult& result : answer.results) out.push_back(result.path);
  return out;
}

class SearchQualityTest : public ::testing::Test {
 protected:
  const std::vector<JudgedQuery> queries_ =
      load_queries(kSource / "tests" / "knowledge" / "queries.json");
  const Search search_{kHandbook};
};

void print_row(const char* name, const Tally& tally) {
  std::printf("%-34s %8d %8.3f %11.1f %%\n", name, tally.count, tally.mean(),
              100.0 * tally.first_share());
}

TEST_F(SearchQualityTest, JudgementsNameExistingPages) {
  std::set<std::string> seen;
  std::map<std::string, int> kinds;
  for (const JudgedQuery& query : queries_) {
    EXPECT_TRUE(seen.insert(query.text).second) << "twice: " << query.text;
    EXPECT_EQ(query.kind == "unsupported", query.relevant.empty()) << query.text;
    for (const auto& [path, grade] : query.relevant) {
      EXPECT_TRUE(fs::is_regular_file(kHandbook / path)) << path;
      EXPECT_TRUE(grade >= 1 && grade <= 3) << query.text;
    }
    ++kinds[query.kind];
  }
  EXPECT_GE(queries_.size(), 120U);
  EXPECT_GE(kinds["unsupported"], 15);
  EXPECT_GE(kinds["spanish"], 15);
  EXPECT_GE(kinds["typo"], 6);
  EXPECT_GE(kinds["symptom"], 12);
}

TEST_F(SearchQualityTest, RanksJudgedPagesFirst) {
  std::map<std::string, Tally> kinds;
  Tally all, held_out, tuned;
  std::size_t number = 0;
  for (const JudgedQuery& query : queries_) {
    const bool hold = number++ % 3 == 2;
    if (query.kind == "unsupported") continue;
    const auto paths = paths_of(search_.query(query.text, 5));
    for (Tally* tally : {&all, &kinds[query.kind], hold ? &held_out : &tuned}) {
      tally->add(query, paths);
    }
    if (!best_first(query, paths)) {
      std::printf("not first%s: %s -> %s\n", hold ? " (held out)" : "", query.text.c_str(),
                  paths.empty() ? "nothing" : paths.front().c_str());
    }
  }
  Tally grep, bm25;
  const PlainRivals rivals(load_pages(kHandbook));
  for (const JudgedQuery& query : queries_) {
    if (query.kind == "unsupported") continue;
    grep.add(query, rivals.grep(query.text));
    bm25.add(query, rivals.bm25(query.text));
  }
  std::printf("\n%-34s %8s %8s %13s\n", "ranking", "queries", "nDCG@5", "best first");
  print_row("search", all);
  print_row("  queries looked at while tuning", tuned);
  print_row("  held out", held_out);
  for (const auto& [kind, tally] : kinds) print_row(("  " + kind).c_str(), tally);
  print_row("BM25 over files", bm25);
  print_row("grep over files", grep);
  EXPECT_GE(all.mean(), 0.85);
  EXPECT_GE(all.first_share(), 0.75);
  EXPECT_GE(held_out.mean(), 0.85);
  EXPECT_GE(held_out.first_share(), 0.75);
  EXPECT_GT(all.mean(), bm25.mean());
  EXPECT_GT(all.mean(), grep.mean());
}

TEST_F(SearchQualityTest, ClaimsSupportOnlyWhereItIs) {
  int false_support = 0;
  int unsupported = 0;
  int missed = 0;
  int supported = 0;
  for (const JudgedQuery& query : queries_) {
    const SearchAnswer answer = search_.query(query.text, 5);
    EXPECT_EQ(answer.label.empty(), answer.support);
    if (query.kind == "unsupported") {
      ++unsupported;
      false_support += answer.support;
      if (answer.support) std::printf("false support: %s\n", query.text.c_str());
    } else {
      ++supported;
      missed += !answer.support;
      if (!answer.support) {
        std::printf("no support: %s (%s)\n", query.text.c_str(), answer.evidence.c_str());
      }
    }
  }
  std::printf("false support %d of %d, support missed %d of %d\n", false_support, unsupported,
              missed, supported);
  EXPECT_LE(false_support * 15, unsupported);  // at most 1 in 15
  EXPECT_LE(missed * 20, supported);           // at most 5 %
}

}  // namespace
}  // namespace ditar::testing
