// Ranks that die, freeze or loop under real mpirun while another waits for them in a collective.
// The harness and the MPI communicator are dit-worker's own, the engine is scripted.
#include "test_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>

namespace ditar {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Outcome {
  std::string text;
  int status = 0;
  Clock::duration took{};
};

/// In every process's command line that this test starts.
std::string mark() { return "mark=" + std::to_string(::getpid()); }

Outcome bench(const std::string& script) {
  const std::string command =
      "exec timeout 60 mpirun --oversubscribe --bind-to none -np 2 " DITAR_BINARY_DIR
      "/tests/fake-worker bench --model fake:" +
      mark() + "," + script + " --steps 4 --requests 2 --warmup 0 --no-check 2>&1 </dev/null";
  Outcome outcome;
  const auto start = Clock::now();
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> block;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    outcome.text.append(block.data(), got);
  }
  outcome.status = ::pclose(pipe);
  outcome.took = Clock::now() - start;
  return outcome;
}

int left_running() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.find("fake:" + mark()) != std::string::npos) ++count;
  }
  return count;
}

/// The number before " s" that follows `words`; a large one where there is none.
double seconds_after(const std::string& text, const std::string& words) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(words + "([0-9]+\\.[0-9]) s"))) return 1e9;
  return std::stod(found[1]);
}

class RankFaultTest : public testing::Test {
 protected:
  void expect_ended(const Outcome& outcome) {
    EXPECT_NE(outcome.status, 0) << outcome.text;
    EXPECT_LT(outcome.took, 17s);  // 12 s after the tick, and the start before it
    const auto until = Clock::now() + 2s;
    while (left_running() != 0 && Clock::now() < until) std::this_thread::sleep_for(20ms);
    EXPECT_EQ(left_running(), 0);
  }
};

TEST_F(RankFaultTest, WithoutAFaultAllGoesWell) {
  const Outcome outcome = bench("ms=1");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(left_running(), 0);
}

TEST_F(RankFaultTest, AKilledRankIsNamedWithItsStep) {
  const Outcome outcome = bench("action=kill,step=2,rank=1");
  EXPECT_NE(outcome.text.find("rank 1 of the group is gone, last seen in the start of a step, "
                              "step 2"),
            std::string::npos)
      << outcome.text;
  expect_ended(outcome);
}

TEST_F(RankFaultTest, AFrozenRankIsNamedWithItsStepAndKilled) {
  for (const int rank : {0, 1}) {
    const Outcome outcome = bench("action=freeze,step=2,rank=" + std::to_string(rank));
    const std::string who = "rank " + std::to_string(rank) + " is frozen";
    EXPECT_NE(outcome.text.find(who), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("the start of a step, step 2"), std::string::npos) << outcome.text;
    EXPECT_LE(seconds_after(outcome.text, "last tick "), 5.0) << outcome.text;
    expect_ended(outcome);
  }
}

TEST_F(RankFaultTest, ALoopingRankIsNamedWithItsStepAndKilled) {
  for (const int rank : {0, 1}) {
    const Outcome outcome = bench("action=hang,step=2,rank=" + std::to_string(rank));
    const std::string who =
        "rank " + std::to_string(rank) + " does not come out of the start of a step, step 2 ";
    EXPECT_NE(outcome.text.find(who), std::string::npos) << outcome.text;
    EXPECT_LE(seconds_after(outcome.text, "step 2 \\("), 5.0) << outcome.text;
    expect_ended(outcome);
  }
}

}  // namespace
}  // namespace ditar
