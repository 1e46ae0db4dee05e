// The sockets between ranks, with the ranks as threads.
#include "ditar/config/wire_codec.h"
#include "ditar/parallel/in_process.h"
#include "rank_link.h"

#include <gtest/gtest.h>

#include <thread>

namespace ditar {
namespace {

using namespace std::chrono_literals;

void on_ranks(int size, bool one_host, const std::function<void(int, RankLinks&)>& body) {
  auto ranks = make_in_process_bootstraps(size, 20s);
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    threads.emplace_back([&] {
      RankLinks links = connect_ranks(*rank, one_host);
      body(rank->rank(), links);
    });
  }
  for (auto& thread : threads) thread.join();
}

class RankLinkTest : public testing::TestWithParam<bool> {};

TEST_P(RankLinkTest, CarriesWorkOutAndReportsBackInRankOrder) {
  on_ranks(3, GetParam(), [](int rank, RankLinks& links) {
    if (rank == 0) {
      links.hub->send_all({MessageType::kRun, 5, "{}", {}});
      const auto reports = links.hub->collect(MessageType::kResult, 10s);
      ASSERT_EQ(reports.size(), 2U);
      EXPECT_EQ(decode_meta<RankReport>(reports[0].meta).rank, 1);
      EXPECT_EQ(decode_meta<RankReport>(reports[1].meta).rank, 2);
      EXPECT_EQ(links.hub->steps(), (std::vector<std::uint64_t>{10, 20}));
      return;
    }
    EXPECT_EQ(links.spoke->wait().seq, 5U);
    const std::string progress =
        encode_progress(static_cast<std::uint64_t>(rank) * 10, *links.page);
    links.spoke->send({MessageType::kProgress, 0, progress, {}});
    RankReport report;
    report.rank = rank;
    links.spoke->send({MessageType::kResult, 5, encode_meta(report), {}});
  });
}

TEST_P(RankLinkTest, TellsBothSidesWhenTheOtherIsGone) {
  on_ranks(2, GetParam(), [](int rank, RankLinks& links) {
    if (rank == 0) {
      EXPECT_THROW((void)links.hub->collect(MessageType::kResult, 10s), RankGone);
    } else {
      EXPECT_FALSE(links.spoke->lead_is_gone());
      links.spoke.reset();
    }
  });
  on_ranks(2, GetParam(), [](int rank, RankLinks& links) {
    if (rank == 0) {
      links.hub.reset();
    } else {
      EXPECT_THROW((void)links.spoke->wait(), RankGone);
      EXPECT_TRUE(links.spoke->lead_is_gone());
    }
  });
}

TEST_P(RankLinkTest, BringsAFollowersFailureToRankZero) {
  on_ranks(2, GetParam(), [](int rank, RankLinks& links) {
    if (rank == 1) {
      FailureReport report{"error", "no memory for block 7", 1, 75};
      links.spoke->send({MessageType::kFailure, 0, encode_meta(report), {}});
      return;
    }
    try {
      (void)links.hub->collect(MessageType::kResult, 10s);
      ADD_FAILURE();
    } catch (const RankFailed& failure) {
      EXPECT_EQ(failure.rank(), 1);
      EXPECT_EQ(failure.message(), "no memory for block 7");
      EXPECT_EQ(failure.exit_code(), ExitCode::kTemporary);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sockets, RankLinkTest, testing::Values(true, false),
                         [](const auto& kind) { return kind.param ? "unix" : "tcp"; });

}  // namespace
}  // namespace ditar
