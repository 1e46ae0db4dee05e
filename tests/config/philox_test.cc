#include "ditar/config/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ditar {
namespace {

// Known answers of the authors' Random123 distribution (kat_vectors, philox4x32 10).
TEST(PhiloxTest, MatchesTheAuthorsKnownAnswers) {
  const PhiloxBlock zero = philox4x32_10(PhiloxBlock{{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zero.v[0], 0x6627e8d5u);
  EXPECT_EQ(zero.v[1], 0xe169c58du);
  EXPECT_EQ(zero.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.v[3], 0x9b00dbd8u);
  const PhiloxBlock pi = philox4x32_10(
      PhiloxBlock{{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u);
  EXPECT_EQ(pi.v[0], 0xd16cfe09u);
  EXPECT_EQ(pi.v[1], 0x94fdccebu);
  EXPECT_EQ(pi.v[2], 0x5001e420u);
  EXPECT_EQ(pi.v[3], 0x24126ea1u);
}

TEST(PhiloxTest, GivesStandardNormalsThatDifferByImageSeedAndStep) {
  std::vector<float> a(4096), b(4096), c(4096), d(4096);
  philox_normal(7, 0, 0, a);
  philox_normal(7, 1, 0, b);
  philox_normal(8, 0, 0, c);
  philox_normal(7, 0, 1, d);
  double sum = 0, square = 0, cross = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i];
    square += double{a[i]} * a[i];
    cross += double{a[i]} * b[i];
  }
  EXPECT_NEAR(sum / 4096, 0.0, 0.07);
  EXPECT_NEAR(square / 4096, 1.0, 0.1);
  EXPECT_NEAR(cross / 4096, 0.0, 0.07);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
}

TEST(PhiloxTest, AShorterSpanIsAPrefix) {
  std::vector<float> whole(10), part(7);
  philox_normal(3, 2, 1, whole);
  philox_normal(3, 2, 1, part);
  whole.resize(7);
  EXPECT_EQ(whole, part);
}

}  // namespace
}  // namespace ditar
