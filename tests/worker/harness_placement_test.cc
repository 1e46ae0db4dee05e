#include "ditar/config/error.h"
#include "placement.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(PlacementTest, SurvivesItsText) {
  const std::string text = "cpu/1/;GPU-12ab/4/0,2,3";
  const auto placements = parse_placements(text);
  ASSERT_EQ(placements.size(), 2U);
  EXPECT_EQ(placements[1].device, "GPU-12ab");
  EXPECT_EQ(placements[1].threads, 4);
  EXPECT_EQ(placements[1].cpus, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(format_placements(placements), text);
  EXPECT_TRUE(parse_placements("").empty());
}

TEST(PlacementTest, NamesTheEntryThatIsWrong) {
  for (const char* bad : {"cpu", "cpu/1", "cpu/0/", "cpu/x/", "/1/", "cpu/1/a", "cpu/1/0;",
                          "cpu/1/0/1", "cpu/-1/", "cpu/1/0,"}) {
    EXPECT_THROW((void)parse_placements(bad), InvalidArgument) << bad;
  }
}

TEST(PlacementTest, RefusesCpusThatDoNotExist) {
  EXPECT_THROW((void)apply_placement({"cpu", 1, {1'000'000}}), InvalidArgument);
}

}  // namespace
}  // namespace ditar
