#include "tables.h"

#include "cost_model.h"
#include "ditar/config/error.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ditar::tables {
namespace {

const std::filesystem::path kHandbook =
    std::filesystem::path(DITAR_SOURCE_DIR) / "knowledge" / "handbook";

TEST(HandbookTablesTest, PagesAndProgramAgree) {
  for (const PageDifference& page : check_pages(kHandbook)) {
    ADD_FAILURE() << page.page << ":" << page.line << ": run handbook-tables --write";
  }
}

TEST(HandbookTablesTest, ReplacesBetweenMarkersOnly) {
  const std::string page = "a\n<!-- table: roofline -->\nold\n<!-- end -->\nb\n";
  const std::string once = with_tables(page);
  EXPECT_EQ(once.find("old"), std::string::npos);
  EXPECT_TRUE(once.starts_with("a\n<!-- table: roofline -->\n"));
  EXPECT_TRUE(once.ends_with("<!-- end -->\nb\n"));
  EXPECT_EQ(with_tables(once), once);
  EXPECT_THROW(with_tables("x\n<!-- table: roofline -->\n"), DataError);
  EXPECT_THROW(with_tables("<!-- table: nothing -->\n<!-- end -->\n"), InvalidArgument);
}

TEST(CostModelTest, ReproducesThePublishedGmacs) {
  EXPECT_NEAR(forward_cost(xl2(256), 1).total() / 2e9, 118.64, 0.05);
  EXPECT_NEAR(forward_cost(xl2(512), 1).total() / 2e9, 524.60, 0.10);
  EXPECT_EQ(parameters(xl2(256)) / 100000, 6748);  // 674.8 M without the positional table
}

TEST(CostModelTest, CountsWaves) {
  EXPECT_DOUBLE_EQ(wave_utilisation(512, 1152, 128, 128, 80), 36.0 / 80.0);
  EXPECT_DOUBLE_EQ(wave_utilisation(512, 1152, 128, 128, 80, 2), 72.0 / 80.0);
  EXPECT_DOUBLE_EQ(wave_utilisation(128 * 81, 128, 128, 128, 80), 81.0 / 160.0);
  EXPECT_LT(wave_utilisation(100, 100, 128, 128, 1), 0.62);  // ragged edges are not useful work
}

TEST(CostModelTest, KnowsTheLimitsOfTheSm) {
  EXPECT_EQ(blocks_per_sm(sm_86(), 128, 128, 49 * 1024), 2);
  EXPECT_EQ(blocks_per_sm(sm_86(), 128, 128, 50 * 1024), 1);  // one reserved KB per block
  EXPECT_EQ(blocks_per_sm(sm_86(), 128, 128, 99 * 1024), 1);
  EXPECT_EQ(blocks_per_sm(sm_86(), 128, 128, 100 * 1024), 0);
  EXPECT_EQ(blocks_per_sm(sm_86(), 1024, 32, 0), 1);
  EXPECT_EQ(blocks_per_sm(sm_86(), 32, 32, 0), 16);
  EXPECT_EQ(blocks_per_sm(sm_86(), 128, 168, 0), 3);
  EXPECT_EQ(blocks_per_sm(sm_80(), 256, 255, 144 * 1024), 1);
}

TEST(CostModelTest, SplitsSendWhatTheFormulasSay) {
  const SplitBytes bytes = split_bytes(xl2(256), 2, 2);
  const double activation = 2.0 * 256 * 1152 * 2;
  EXPECT_DOUBLE_EQ(bytes.tensor, 2 * activation);
  EXPECT_DOUBLE_EQ(bytes.ulysses, activation);
  EXPECT_DOUBLE_EQ(bytes.cfg_per_step, 32.0 * 32 * 4 * 4);
}

TEST(CostModelTest, DecoderCostGrowsWithTheImage) {
  EXPECT_NEAR(vae_decode_flop(256) / 1e9, 622, 2);
  EXPECT_GT(vae_decode_flop(512), 4 * vae_decode_flop(256));  // attention grows faster
}

}  // namespace
}  // namespace ditar::tables
