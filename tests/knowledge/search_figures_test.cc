// What the handbook says of its own search is what the search does: page and record agree, and a
// fresh measurement bears the record out.
#include "search_figures.h"

#include "test_paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <set>

namespace ditar::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DITAR_SOURCE_DIR;
const fs::path kHandbook = kSource / "knowledge" / "handbook";

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<RankingFigures> recorded() {
  return figures_from(nlohmann::json::parse(
      read(kSource / "knowledge" / "records" / "search-quality.json"))["figures"]);
}

const RankingFigures& of(const std::vector<RankingFigures>& all, const std::string& set,
                         const std::string& ranking) {
  for (const RankingFigures& figures : all) {
    if (figures.set == set && figures.ranking == ranking && figures.kind.empty()) return figures;
  }
  throw std::runtime_error("no figures of " + set + ", " + ranking);
}

TEST(SearchFiguresTest, PageShowsTheRecord) {
  const std::string page = read(kHandbook / "09_reference" / "13_search_quality.md");
  EXPECT_EQ(with_record(page, to_markdown(recorded())), page) << "run: search-quality --write .";
}

// Edits of other pages move the figures a little; more than this means that the page is not true
// any more.
TEST(SearchFiguresTest, RecordIsBorneOut) {
  const std::vector<RankingFigures> old = recorded(), now = measure(kHandbook, query_sets(kSource));
  ASSERT_EQ(old.size(), now.size()) << "run: search-quality --write .";
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string what = now[i].set + ", " + now[i].ranking + " " + now[i].kind;
    EXPECT_EQ(old[i].queries, now[i].queries) << what;
    if (now[i].kind.empty()) {
      EXPECT_NEAR(old[i].ndcg, now[i].ndcg, 0.02) << what << "; run: search-quality --write .";
      EXPECT_NEAR(old[i].best_first, now[i].best_first, 4) << what;
      EXPECT_NEAR(old[i].false_support, now[i].false_support, 1) << what;
    }
  }
}

TEST(SearchFiguresTest, HeldOutQueriesAreAnsweredBetterThanByPlainRankings) {
  const std::vector<RankingFigures> now = measure(kHandbook, query_sets(kSource));
  for (const char* set : {"held out", "fresh", "unseen", "last"}) {
    const RankingFigures& ours = of(now, set, "dit-ar search");
    EXPECT_GE(ours.queries, 40) << set;
    EXPECT_GE(ours.ndcg, 0.82) << set;
    EXPECT_GE(ours.best_first, 0.73 * ours.queries) << set;
    EXPECT_GE(ours.unsupported, 8) << set;
    EXPECT_LE(ours.false_support * 15, ours.unsupported) << set;  // at most 1 in 15
    for (const char* rival : {"BM25 over files", "grep over files"}) {
      EXPECT_GT(ours.ndcg, of(now, set, rival).ndcg + 0.1) << set << ", " << rival;
      EXPECT_GT(ours.best_first, of(now, set, rival).best_first) << set << ", " << rival;
    }
  }
}

TEST(SearchFiguresTest, NoQueryStandsInTwoSets) {
  std::set<std::string> seen;
  for (const QuerySet& set : query_sets(kSource)) {
    for (const JudgedQuery& query : set.queries) {
      EXPECT_TRUE(seen.insert(query.text).second) << "twice: " << query.text;
      EXPECT_EQ(query.kind == "unsupported", query.relevant.empty()) << query.text;
      for (const auto& [path, grade] : query.relevant) {
        EXPECT_TRUE(fs::is_regular_file(kHandbook / path)) << path;
        EXPECT_TRUE(grade >= 1 && grade <= 3) << query.text;
      }
    }
  }
}

}  // namespace
}  // namespace ditar::testing
