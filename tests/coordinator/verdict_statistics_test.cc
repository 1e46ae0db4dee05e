#include "ditar/config/error.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "ditar/coordinator/verdict/timing_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ditar {
namespace {

TEST(StatisticsTest, LogNormalCdfHoldsInTheTails) {
  EXPECT_NEAR(log_normal_cdf(0.0), std::log(0.5), 1e-15);
  EXPECT_NEAR(log_normal_cdf(-10.0), -53.23128515051247, 1e-11);
  EXPECT_NEAR(log_normal_cdf(-29.999999), log_normal_cdf(-30.000001), 1e-4);
  EXPECT_NEAR(log_normal_cdf(-40.0), -804.6084420137538, 1e-9);
  EXPECT_NEAR(log_normal_cdf(8.0), -6.220960574271786e-16, 1e-28);
  EXPECT_LT(log_normal_cdf(-1e100), -1e199);
}

TEST(StatisticsTest, QuantilesAndTailsAreTheTabulatedOnes) {
  EXPECT_NEAR(chi_square_quantile(0.999, 20.0), 45.31474661812586, 1e-9);
  EXPECT_NEAR(std::sqrt(19.0 / chi_square_quantile(0.10, 19.0)), 1.277, 5e-4);
  EXPECT_NEAR(binomial_upper_tail(7, 7, 0.5), 1.0 / 128, 1e-15);
  EXPECT_NEAR(binomial_upper_tail(9, 10, 0.5), 11.0 / 1024, 1e-15);
  EXPECT_EQ(binomial_upper_tail(0, 0, 0.5), 1.0);
  EXPECT_EQ(binomial_upper_tail(1, 0, 0.5), 0.0);
  EXPECT_THROW(chi_square_quantile(1.0, 3.0), InvalidArgument);
}

TEST(StatisticsTest, EValueIsTheMixtureIntegral) {
  // E = integral over m > 0 of the half-normal density(tau) times exp(m S/s^2 - n m^2/(2 s^2)).
  const double sigma = 0.003, tau = 0.006, sum = 0.013;
  const int n = 4;
  double integral = 0.0;
  const double step = tau / 2000.0;
  for (int i = 0; i < 20000; ++i) {
    const double m = (i + 0.5) * step;
    const double density = std::sqrt(2.0 / M_PI) / tau * std::exp(-0.5 * m * m / (tau * tau));
    integral += step * density * std::exp((m * sum - 0.5 * n * m * m) / (sigma * sigma));
  }
  EXPECT_NEAR(log_e_value(sum, n, sigma, tau), std::log(integral), 1e-6);
}

TEST(StatisticsTest, EValueStaysFiniteAtTheEdges) {
  EXPECT_EQ(log_e_value(0.0, 0, 0.01, 0.02), 0.0);
  EXPECT_NEAR(log_e_value(0.0, 5, 0.01, 0.02), -0.5 * std::log(21.0), 1e-12);
  EXPECT_TRUE(std::isfinite(log_e_value(1e6, 10, 1e-4, 5e-3)));
  EXPECT_LT(log_e_value(-1e6, 10, 1e-4, 5e-3), 0.0);
  EXPECT_THROW(log_e_value(0.1, 1, 0.0, 0.1), InvalidArgument);
  EXPECT_THROW(log_e_value(std::nan(""), 1, 0.1, 0.1), InvalidArgument);
}

TEST(StatisticsTest, LevelsOfACampaignSpendAlphaOnce) {
  EXPECT_NEAR(1.0 / e_lond_alpha(0.05, 1, 0), 41.0, 1.0);
  EXPECT_NEAR(1.0 / e_lond_alpha(0.05, 10, 1), 1334.0, 1.0);
  double spent = 0.0;
  for (int i = 1; i < 1000000; ++i) spent += e_lond_alpha(0.05, i, 0);
  EXPECT_LE(spent, 0.05);
  EXPECT_GE(spent, 0.04);
  EXPECT_THROW(e_lond_alpha(0.05, 0, 0), InvalidArgument);
  EXPECT_THROW(e_lond_alpha(0.05, 3, 3), InvalidArgument);
}

TEST(StatisticsTest, SweepRejectsByEbh) {
  EXPECT_TRUE(e_bh({}, 0.05).empty());
  // m = 3: needs 60 for one, 30 for two, 20 for three.
  const std::vector<double> two = {std::log(31.0), 0.0, std::log(30.5)};
  EXPECT_EQ(e_bh(two, 0.05), (std::vector<std::size_t>{0, 2}));
  const std::vector<double> none = {std::log(59.0), 0.0, std::log(29.0)};
  EXPECT_TRUE(e_bh(none, 0.05).empty());
  const std::vector<double> infinite = {std::numeric_limits<double>::infinity(), 0.0};
  EXPECT_EQ(e_bh(infinite, 0.05), (std::vector<std::size_t>{0}));
}

TEST(StatisticsTest, SignFlipCountsPatterns) {
  EXPECT_EQ(sign_flip_p({}), 1.0);
  const std::vector<double> one = {0.1};
  EXPECT_EQ(sign_flip_p(one), 0.5);
  const std::vector<double> eight(8, 0.01);
  EXPECT_EQ(sign_flip_p(eight), 1.0 / 256);
  const std::vector<double> zeros(5, 0.0);
  EXPECT_EQ(sign_flip_p(zeros), 1.0);
  // Sums of {1,2,3} with signs: 6 4 2 0 0 -2 -4 -6; seen 1+2-3 = 0.
  const std::vector<double> mixed = {1.0, 2.0, -3.0};
  EXPECT_EQ(sign_flip_p(mixed), 5.0 / 8);
  const std::vector<double> bad = {1.0, std::nan("")};
  EXPECT_THROW(sign_flip_p(bad), InvalidArgument);
  EXPECT_THROW(sign_flip_p(std::vector<double>(23, 1.0)), InvalidArgument);
}

TEST(StatisticsTest, HodgesLehmannIntervalHasTheExactLevel) {
  std::vector<double> ten;
  for (int i = 1; i <= 10; ++i) ten.push_back(i * i);
  const HodgesLehmann r = hodges_lehmann(ten);
  EXPECT_NEAR(r.confidence, 0.951171875, 1e-12);  // 9th smallest and 9th largest of 55
  EXPECT_LE(r.low, r.estimate);
  EXPECT_GE(r.high, r.estimate);
  const HodgesLehmann eight = hodges_lehmann(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NEAR(eight.confidence, 0.9609375, 1e-12);  // 4th of 36
  EXPECT_EQ(eight.estimate, 4.5);
  EXPECT_EQ(eight.low, 2.0);
  EXPECT_EQ(eight.high, 7.0);
  const HodgesLehmann single = hodges_lehmann(std::vector<double>{3.0});
  EXPECT_EQ(single.estimate, 3.0);
  EXPECT_EQ(single.confidence, 0.0);
  EXPECT_EQ(hodges_lehmann(std::vector<double>{1.0, 2.0}).confidence, 0.5);
  EXPECT_THROW(hodges_lehmann({}), InvalidArgument);
}

TEST(TimingRecordTest, QuadCancelsALinearDrift) {
  QuadRecord quad;
  const double base = 1e9;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_b = i == 1 || i == 2;
    quad.cost[i] =
        std::llround(base * std::exp(0.01 * static_cast<double>(i) + (is_b ? -0.02 : 0.0)));
  }
  EXPECT_NEAR(quad_value(quad), -0.02, 1e-8);
  quad.order = QuadOrder::kBaab;
  EXPECT_NEAR(quad_value(quad), 0.02, 1e-8);
  quad.cost[3] = 0;
  EXPECT_THROW(quad_value(quad), DataError);
}

TEST(TimingRecordTest, BlockNeedsItsValidQuads) {
  BlockRecord block;
  EXPECT_FALSE(block_value(block, 0).has_value());
  QuadRecord quad;
  quad.cost = {100, 90, 90, 100};
  block.quads.assign(4, quad);
  EXPECT_NEAR(block_value(block, 4).value(), std::log(0.9), 1e-12);
  block.quads[0].is_void = true;
  EXPECT_FALSE(block_value(block, 4).has_value());
  EXPECT_TRUE(block_value(block, 3).has_value());
  block.is_void = true;
  EXPECT_FALSE(block_value(block, 3).has_value());
  EXPECT_EQ(block_kind_from("confirm"), BlockKind::kConfirm);
  EXPECT_THROW(block_kind_from("warm"), DataError);
}

}  // namespace
}  // namespace ditar
