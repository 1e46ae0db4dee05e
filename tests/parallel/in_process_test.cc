#include "ditar/parallel/in_process.h"

#include "communicator_cases.h"
#include "ditar/config/error.h"
#include "rank_threads.h"

#include <gtest/gtest.h>

#include <atomic>

namespace ditar {
namespace {

using namespace std::chrono_literals;

class InProcessCommunicatorTest : public testing::TestWithParam<int> {
 protected:
  void expect_right(const std::function<std::int64_t(Communicator&)>& wrong) {
    std::atomic<std::int64_t> total = 0;
    rethrow_first(run_ranks(GetParam(), [&](Communicator& comm) { total += wrong(comm); }));
    EXPECT_EQ(total, 0);
  }
};

TEST_P(InProcessCommunicatorTest, SumsInRankOrderWithTheSameBitsEverywhere) {
  for (const std::int64_t count : {0, 1, 7, 4096}) {
    expect_right([&](Communicator& comm) { return wrong_in_all_reduce(comm, count); });
  }
}
TEST_P(InProcessCommunicatorTest, SumsSixteenBitFloatsInFp32) {
  expect_right([](Communicator& comm) { return wrong_in_all_reduce_16bit(comm); });
}
TEST_P(InProcessCommunicatorTest, SumsIntegers) {
  expect_right([](Communicator& comm) { return wrong_in_integer_sum(comm); });
}
TEST_P(InProcessCommunicatorTest, GathersInRankOrder) {
  expect_right([](Communicator& comm) { return wrong_in_all_gather(comm, 33); });
}
TEST_P(InProcessCommunicatorTest, ScattersSums) {
  expect_right([](Communicator& comm) { return wrong_in_reduce_scatter(comm, 129); });
}
TEST_P(InProcessCommunicatorTest, ExchangesBlocks) {
  expect_right([](Communicator& comm) { return wrong_in_all_to_all(comm, 17); });
}
TEST_P(InProcessCommunicatorTest, BroadcastsFromEveryRoot) {
  expect_right([](Communicator& comm) { return wrong_in_broadcast(comm); });
}
TEST_P(InProcessCommunicatorTest, PassesATokenRound) {
  expect_right([](Communicator& comm) { return wrong_in_ring(comm); });
}
TEST_P(InProcessCommunicatorTest, SendsAndReceivesAtOnceRoundARing) {
  expect_right([](Communicator& comm) { return wrong_in_send_recv(comm); });
}
TEST_P(InProcessCommunicatorTest, SplitsByColorAndOrdersByKey) {
  expect_right([](Communicator& comm) { return wrong_in_split(comm) + wrong_in_split(comm); });
}
TEST_P(InProcessCommunicatorTest, BootstrapGathersBlobsOfAnyLength) {
  auto ranks = make_in_process_bootstraps(GetParam(), 20s);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    threads.emplace_back([&] {
      const std::vector<std::byte> mine(static_cast<std::size_t>(rank->rank()) * 5,
                                        static_cast<std::byte>(rank->rank()));
      const auto all = rank->all_gather(mine);
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r] != std::vector<std::byte>(r * 5, static_cast<std::byte>(r))) ++wrong;
      }
      std::vector<std::byte> blob(3, static_cast<std::byte>(rank->rank() + 1));
      rank->broadcast(blob, rank->size() - 1);
      if (blob != std::vector<std::byte>(3, static_cast<std::byte>(rank->size()))) ++wrong;
      rank->barrier();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, InProcessCommunicatorTest, testing::Values(1, 2, 3, 4),
                         [](const auto& ranks) { return "np" + std::to_string(ranks.param); });

TEST(InProcessDeadlineTest, NamesTheRankThatDoesNotCome) {
  const auto faults = run_ranks(
      3,
      [](Communicator& comm) {
        if (comm.rank() == 1) return;
        float x = 0.0F;
        comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
      },
      100ms);
  int timeouts = 0;
  for (const int r : {0, 2}) {
    ASSERT_TRUE(faults[static_cast<std::size_t>(r)]);
    try {
      std::rethrow_exception(faults[static_cast<std::size_t>(r)]);
    } catch (const TimeoutError& error) {
      ++timeouts;
      EXPECT_NE(error.message().find("all_reduce_sum for rank 1"), std::string::npos)
          << error.message();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("aborted"), std::string::npos) << error.message();
    }
  }
  EXPECT_GE(timeouts, 1);
}

TEST(InProcessDeadlineTest, ReceiveTimesOutToo) {
  const auto faults = run_ranks(
      2,
      [](Communicator& comm) {
        float x = 0.0F;
        if (comm.rank() == 1) comm.recv(&x, 1, DType::kF32, 0, {});
      },
      50ms);
  EXPECT_FALSE(faults[0]);
  ASSERT_TRUE(faults[1]);
  EXPECT_THROW(std::rethrow_exception(faults[1]), TimeoutError);
}

TEST(InProcessDeadlineTest, AbortFreesWaitingRanksAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const auto faults = run_ranks(3, [](Communicator& comm) {
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(30ms);
      comm.abort();
      return;
    }
    float x = 0.0F;
    comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
  });
  EXPECT_TRUE(faults[0] && faults[1] && !faults[2]);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(InProcessMismatchTest, TellsRanksThatMakeDifferentCalls) {
  const auto faults = run_ranks(2, [](Communicator& comm) {
    std::vector<float> x(4, 0.0F);
    comm.all_reduce_sum(x.data(), x.data(), comm.rank() == 0 ? 4 : 3, DType::kF32, {});
  });
  for (const auto& fault : faults) {
    ASSERT_TRUE(fault);
    EXPECT_THROW(std::rethrow_exception(fault), InvalidArgument);
  }
}

TEST(InProcessMismatchTest, RefusesSumsOfBytes) {
  const auto faults = run_ranks(1, [](Communicator& comm) {
    std::uint8_t x = 1;
    comm.all_reduce_sum(&x, &x, 1, DType::kU8, {});
  });
  ASSERT_TRUE(faults[0]);
  EXPECT_THROW(std::rethrow_exception(faults[0]), InvalidArgument);
}

}  // namespace
}  // namespace ditar
