#include "spelling.h"

#include <gtest/gtest.h>

namespace ditar::knowledge {
namespace {

TEST(SpellerTest, FindsTheNearestKnownWord) {
  const Speller speller({{"attention", 40}, {"intention", 1}, {"occupancy", 5}, {"cache", 9}});
  EXPECT_EQ(speller.correct("atention"), "attention");
  EXPECT_EQ(speller.correct("attnetion"), "attention");
  EXPECT_EQ(speller.correct("ocupanci"), "occupancy");
  EXPECT_EQ(speller.correct("cahce"), "cache");
}

TEST(SpellerTest, LeavesFarShortAndNumberedWordsAlone) {
  const Speller speller({{"quantization", 9}, {"cache", 9}, {"fp16", 9}, {"gemm", 3}});
  EXPECT_FALSE(speller.correct("quantum"));
  EXPECT_FALSE(speller.correct("beach"));
  EXPECT_FALSE(speller.correct("fp18"));
  EXPECT_FALSE(speller.correct("gem"));
}

TEST(SpellerTest, PrefersTheMoreFrequentOfEquals) {
  const Speller speller({{"tiles", 2}, {"tilts", 30}});
  EXPECT_EQ(speller.correct("tilds"), "tilts");
}

TEST(EditDistanceTest, CountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("kernel", "kernel", 2), 0U);
  EXPECT_EQ(edit_distance("kernel", "kerenl", 2), 1U);
  EXPECT_EQ(edit_distance("kernel", "kern", 2), 2U);
  EXPECT_EQ(edit_distance("kernel", "colonel", 2), 3U);
}

}  // namespace
}  // namespace ditar::knowledge
