#include "experiment/idle_watch.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace ditar {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kElapsedNs = 40'000'000;

TEST(IdleWatchTest, RestIsNoFault) {
  IdleWatch watch;
  watch.watch({::getpid()});
  watch.begin();
  std::this_thread::sleep_for(std::chrono::nanoseconds(kElapsedNs));
  watch.end(kElapsedNs);
  EXPECT_EQ(watch.fault(), "") << watch.busy_ns();
  EXPECT_EQ(watch.elapsed_ns(), kElapsedNs);
}

TEST(IdleWatchTest, WorkOfAnotherThreadIsFound) {
  IdleWatch watch;
  watch.watch({::getpid()});
  watch.begin();
  std::atomic<bool> done{false}, leave{false};
  std::thread worker([&] {
    // Until the thread itself has had 40 ms of a processor, however loaded the machine is.
    timespec used{};
    do {
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < kElapsedNs);
    done = true;
    while (!leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  watch.end(kElapsedNs);
  leave = true;
  worker.join();
  EXPECT_GE(watch.busy_ns(), kElapsedNs * 9 / 10);
  EXPECT_NE(watch.fault().find("CPU time"), std::string::npos);
}

TEST(IdleWatchTest, ProcessesThatAreGoneCountAsIdle) {
  IdleWatch watch;
  watch.watch({-1});
  watch.begin();
  watch.end(kElapsedNs);
  EXPECT_EQ(watch.busy_ns(), 0);
}

}  // namespace
}  // namespace ditar
