#include "ditar/parallel/pulse.h"

#include "ditar/config/error.h"
#include "rank_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

namespace ditar {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

PulseSnapshot working(std::chrono::milliseconds age, std::chrono::milliseconds allowed = kUsualOp) {
  PulseSnapshot seen;
  seen.ticks = 10;
  seen.state = PulseState::kWork;
  seen.step = 2;
  seen.block = 3;
  seen.op = "mlp.fc1";
  seen.tick_age = age;
  seen.allowed = allowed;
  return seen;
}

PulseSnapshot waiting(std::chrono::milliseconds age, std::uint64_t ticks = 10) {
  PulseSnapshot seen = working(age);
  seen.state = PulseState::kWait;
  seen.op = "all_gather";
  seen.block = -1;
  seen.ticks = ticks;
  return seen;
}

TEST(PulseTest, APageTellsWhatTheThreadDoes) {
  const auto page = std::make_shared<PulsePage>();
  EXPECT_EQ(current_pulse(), nullptr);
  pulse_tick("nobody listens");
  {
    const PulseBinding binding(page);
    pulse_step(4);
    pulse_tick("attn", 7, 60s);
    auto seen = read_pulse(*page, Clock::now());
    EXPECT_EQ(seen.where(), "attn of block 7, step 4");
    EXPECT_EQ(seen.state, PulseState::kWork);
    EXPECT_EQ(seen.allowed, 60s);
    const std::uint64_t ticks = seen.ticks;
    {
      const PulseWait wait("recv", 1);
      seen = read_pulse(*page, Clock::now());
      EXPECT_EQ(seen.state, PulseState::kWait);
      EXPECT_EQ(seen.where(), "recv with rank 1 of block 7, step 4");
    }
    EXPECT_EQ(read_pulse(*page, Clock::now()).state, PulseState::kWork);
    EXPECT_EQ(read_pulse(*page, Clock::now()).ticks, ticks + 2);
    pulse_tick(std::string(100, 'x'));
    EXPECT_EQ(read_pulse(*page, Clock::now()).op, std::string(40, 'x'));
    pulse_idle();
    EXPECT_EQ(read_pulse(*page, Clock::now()).state, PulseState::kIdle);
  }
  EXPECT_EQ(current_pulse(), nullptr);
}

TEST(PulseTest, SurvivesTheWayToAnotherHost) {
  PulsePage page{};
  const auto now = Clock::now();
  const PulseSnapshot sent = working(1200ms, 9s);
  write_pulse(page, sent, now);
  const PulseSnapshot seen = read_pulse(page, now + 300ms);
  EXPECT_EQ(seen.where(), sent.where());
  EXPECT_EQ(seen.ticks, sent.ticks);
  EXPECT_EQ(seen.tick_age, 1500ms);
  EXPECT_EQ(seen.allowed, 9s);
}

TEST(PulseTest, AReaderNeverSeesHalfOfATick) {
  const auto page = std::make_shared<PulsePage>();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const PulseBinding binding(page);
    const std::string a(40, 'a'), b(40, 'b');
    while (!stop) {
      pulse_tick(a, 1);
      pulse_tick(b, 2);
    }
  });
  while (read_pulse(*page, Clock::now()).ticks == 0) std::this_thread::yield();
  int torn = 0;
  for (int i = 0; i < 20'000; ++i) {
    const PulseSnapshot seen = read_pulse(*page, Clock::now());
    torn += seen.op != std::string(40, seen.block == 1 ? 'a' : 'b');
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST(StallTest, LeavesRanksAloneThatGoOn) {
  EXPECT_FALSE(find_stall(std::vector{working(3s), waiting(60s)}));
  EXPECT_FALSE(find_stall(std::vector{working(60s, 5min), waiting(60s)}));  // announced
  EXPECT_FALSE(find_stall(std::vector{waiting(3s), waiting(60s)}));
  EXPECT_FALSE(find_stall(std::vector{PulseSnapshot{}, PulseSnapshot{}}));
}

TEST(StallTest, NamesRankOpAndStep) {
  const auto stuck = find_stall(std::vector{waiting(4s), working(3600ms)});
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->rank, 1);
  EXPECT_NE(stuck->text.find("rank 1 does not come out of mlp.fc1 of block 3, step 2 (3.6 s"),
            std::string::npos)
      << stuck->text;
  PulseSnapshot silent = waiting(3400ms);
  silent.beat_age = 3100ms;
  const auto frozen = find_stall(std::vector{silent, working(3s)});
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->rank, 0);
  EXPECT_NE(frozen->text.find("rank 0 is frozen"), std::string::npos) << frozen->text;
  EXPECT_NE(frozen->text.find("all_gather, step 2"), std::string::npos) << frozen->text;
}

TEST(StallTest, NamesTheLastOfRanksThatWaitForEachOther) {
  const auto deadlock = find_stall(std::vector{waiting(5s, 12), waiting(6s, 11)});
  ASSERT_TRUE(deadlock);
  EXPECT_EQ(deadlock->rank, 1);
  EXPECT_NE(deadlock->text.find("rank 0 is in all_gather"), std::string::npos) << deadlock->text;
  PulseSnapshot idle = waiting(6s, 99);
  idle.state = PulseState::kIdle;
  EXPECT_EQ(find_stall(std::vector{waiting(5s), idle})->rank, 1);
}

/// Rank 0 of three meets all others in a collective; rank 1 does `fault` instead of coming.
std::string fault_of(const std::function<void(const std::atomic<bool>&)>& fault,
                     std::chrono::milliseconds deadline) {
  std::atomic<bool> over = false;
  const auto faults = run_ranks(
      3,
      [&](Communicator& comm) {
        const PulseBinding binding(std::make_shared<PulsePage>());
        float x = 1.0F;
        comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
        pulse_step(2);
        pulse_tick("mlp.fc1", 3);
        if (comm.rank() == 1) return fault(over);
        try {
          comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
        } catch (...) {
          over = true;
          throw;
        }
      },
      deadline);
  for (const int rank : {0, 2}) {
    try {
      std::rethrow_exception(faults[static_cast<std::size_t>(rank)]);
    } catch (const TimeoutError& error) {
      return error.message();
    } catch (const Error&) {  // the other one named it first
    }
  }
  return {};
}

TEST(InProcessFaultTest, ADeadFrozenOrLoopingRankIsNamedWithOpAndStep) {
  const auto dead = [](const std::atomic<bool>&) {};
  const auto frozen = [](const std::atomic<bool>& over) {
    while (!over) std::this_thread::sleep_for(10ms);
  };
  const auto loops = [](const std::atomic<bool>& over) {
    while (!over) {
    }
  };
  for (const std::function<void(const std::atomic<bool>&)>& fault :
       {std::function<void(const std::atomic<bool>&)>(dead), {frozen}, {loops}}) {
    const std::string text = fault_of(fault, 300ms);
    EXPECT_NE(text.find("rank 1 (last seen in mlp.fc1 of block 3, step 2)"), std::string::npos)
        << text;
  }
}

TEST(InProcessFaultTest, AnAnnouncedSlowOpIsWaitedFor) {
  const auto slow = [](const std::atomic<bool>&) {
    pulse_tick("prepare", -1, 20s);
    std::this_thread::sleep_for(500ms);
  };
  const auto start = Clock::now();
  const auto faults = run_ranks(
      2,
      [&](Communicator& comm) {
        const PulseBinding binding(std::make_shared<PulsePage>());
        float x = 1.0F;
        comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
        if (comm.rank() == 1) slow({});
        comm.all_reduce_sum(&x, &x, 1, DType::kF32, {});
      },
      200ms);
  rethrow_first(faults);
  EXPECT_GE(Clock::now() - start, 500ms);
}

}  // namespace
}  // namespace ditar
