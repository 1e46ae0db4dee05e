// The promise of 50 ms for a query, held in processor time so that a busy neighbour cannot fail it.
#include "ditar/knowledge/search.h"
#include "retrieval.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <vector>

namespace ditar::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DITAR_SOURCE_DIR;

TEST(SearchSpeedTest, OpensItsCacheAndAnswersWithinFiftyMilliseconds) {
  const auto cache =
      fs::temp_directory_path() / ("ditar-search-speed-" + std::to_string(::getpid()));
  { Search warm(kSource / "knowledge" / "handbook", cache); }
  std::vector<double> times;
  for (const JudgedQuery& query : load_queries(kSource / "tests" / "knowledge" / "queries.json")) {
    if (times.size() == 60) break;
    const std::clock_t start = std::clock();
    const Search search(kSource / "knowledge" / "handbook", cache);
    EXPECT_TRUE(search.from_cache());
    (void)search.query(query.text);
    times.push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  fs::remove_all(cache);
  std::sort(times.begin(), times.end());
  const double high = times[times.size() * 9 / 10];
  std::printf("open and query: median %.1f ms, 90 %% below %.1f ms of processor time\n",
              times[times.size() / 2], high);
  EXPECT_LE(high, 50.0);
}

}  // namespace
}  // namespace ditar::testing
