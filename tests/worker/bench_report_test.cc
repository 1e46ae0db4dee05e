#include "bench_report.h"

#include "ditar/config/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ditar {
namespace {

using testing::HasSubstr;

BenchRow row(int rank, std::vector<double> times_ms) {
  BenchRow made;
  made.who.rank = rank;
  made.who.host = "here";
  made.who.device = "cpu";
  made.times_ms = std::move(times_ms);
  made.sent_bytes = 2e6;
  made.exchanges = 7;
  return made;
}

/// Two ranks with means of 4 and 5 ms, and an all-gather of 2 x 1 MiB in 100 and 200 us.
BenchResult sound() {
  BenchResult result;
  result.model.plan = "cfg=2";
  result.sizes.push_back({.images = 2,
                          .rows = {row(0, {3.0, 5.0}), row(1, {4.0, 6.0})},
                          .error = 0.0,
                          .allowed = 0.0});
  result.exchanges.push_back({.kind = {0, ExchangeOp::kAllGather, 262'144, DType::kF32},
                              .ranks = 2,
                              .calls = 10,
                              .times_us = {100.0, 200.0},
                              .wrong = {0, 0}});
  return result;
}

TEST(BenchReportTest, HasARowPerSizeRankAndExchange) {
  const BenchResult result = sound();
  EXPECT_TRUE(result.good());
  const std::string text = bench_table(result);
  EXPECT_THAT(text, HasSubstr("     2      2      4.000      4.500      5.000    400.000"
                              "          7      2.000  ok, same bits"));
  // 2 MiB in the slowest rank's 200 us, of which half crosses the bus.
  EXPECT_THAT(text, HasSubstr("all_gather          2    2097152     262144   f32      10     100.00"
                              "     150.00     200.00   10.486    5.243       0"));
  const auto json = nlohmann::json::parse(bench_json(result));
  EXPECT_EQ(json.at("sizes").at(0).at("slowest_mean_ms"), 5.0);
  EXPECT_NEAR(json.at("exchanges").at(0).at("busbw_gb_per_s"), 5.24288, 1e-9);
}

TEST(BenchReportTest, WhatIsWrongIsSaidAndNeverGood) {
  BenchResult off = sound();
  off.sizes[0].error = 1e-7;
  EXPECT_FALSE(off.good());
  EXPECT_THAT(bench_table(off), HasSubstr("WRONG, off by 1.0e-07"));
  off.sizes[0].allowed = 1e-5;
  EXPECT_TRUE(off.good());
  EXPECT_THAT(bench_table(off), HasSubstr("ok, off by 1.0e-07"));
  BenchResult infinite = sound();
  infinite.sizes[0].error.reset();
  infinite.sizes[0].rows[1].finite = false;
  EXPECT_FALSE(infinite.good());
  EXPECT_THAT(bench_table(infinite), HasSubstr("NOT FINITE"));
  BenchResult damaged = sound();
  damaged.exchanges[0].wrong = {0, 1};
  EXPECT_FALSE(damaged.good());
  BenchResult unchecked = sound();
  unchecked.unchecked = "one rank has not the memory";
  EXPECT_THAT(bench_table(unchecked), HasSubstr("not compared with one rank: one rank has not"));
}

TEST(BenchReportTest, RowsTravelBetweenRanks) {
  const BenchRow sent = row(1, {1.5, 2.5});
  const BenchRow got = decode_row(encode_row(sent));
  EXPECT_EQ(got.who.rank, 1);
  EXPECT_EQ(got.times_ms, sent.times_ms);
  EXPECT_EQ(got.sent_bytes, 2e6);
  EXPECT_EQ(got.exchanges, 7);
  EXPECT_THROW((void)decode_row("{}"), TransportError);
}

}  // namespace
}  // namespace ditar
