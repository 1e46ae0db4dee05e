// Ranks that die, freeze or loop under real mpirun while another waits for them in a collective.
// The harness and the MPI communicator are dit-worker's own; the engine is scripted, or the real
// one.
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

/// In the command line or environment of every worker that this test starts.
std::string mark() { return "mark=" + std::to_string(::getpid()); }

Outcome on_two_ranks(const std::string& rest) {
  const std::string command =
      "exec timeout 60 mpirun --oversubscribe --bind-to none -np 2 " + rest + " 2>&1 </dev/null";
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

Outcome bench(const std::string& script) {
  return on_two_ranks(DITAR_BINARY_DIR "/tests/fake-worker bench --model fake:" + mark() + "," +
                      script + " --steps 4 --requests 2 --warmup 0 --no-check");
}

/// dit-worker itself, of which rank 1 gets `signal` while it works. A shell that becomes it knows
/// its process.
Outcome signalled(const std::string& signal, const std::string& after_s,
                  const std::string& arguments) {
  return on_two_ranks("sh -c 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (sleep " + after_s +
                      "; kill -" + signal + " $$) & fi; exec env fake:" + mark() +
                      "=1 " DITAR_BINARY_DIR "/bin/dit-worker " + arguments + "'");
}

int left_running() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    bool found = false;
    for (const char* const name : {"cmdline", "environ"}) {
      std::ifstream file(entry.path() / name);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      found = found || text.find("fake:" + mark()) != std::string::npos;
    }
    count += found ? 1 : 0;
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

const char* const kLongBench =
    "bench --no-check --plan tensor=2 --steps 1000 --requests 100 "
    "--model " DITAR_SOURCE_DIR "/config/models/mnist-dit.safetensors";

// The real engine: the op, the layer and the step are those it was in.
TEST_F(RankFaultTest, AKilledEngineIsNamedWithOpAndStep) {
  const Outcome outcome = signalled("KILL", "2", kLongBench);
  const std::regex named(
      "rank 1 of the group is gone, last seen in [a-z_. 0-9]+ of block [0-5], step [0-9]+");
  EXPECT_TRUE(std::regex_search(outcome.text, named)) << outcome.text;
  expect_ended(outcome);
}

TEST_F(RankFaultTest, AFrozenEngineIsNamedWithOpAndStep) {
  const Outcome outcome = signalled("STOP", "2", kLongBench);
  const std::regex named(
      "rank 1 is frozen: no sign of life for [3-5]\\.[0-9] s, last tick "
      "([0-9]\\.[0-9]) s ago in [a-z_. 0-9]+, step [0-9]+");
  EXPECT_TRUE(std::regex_search(outcome.text, named)) << outcome.text;
  EXPECT_LE(seconds_after(outcome.text, "last tick "), 5.0) << outcome.text;
  expect_ended(outcome);
}

TEST_F(RankFaultTest, AFrozenPeerEndsAProbe) {
  const Outcome outcome = signalled("STOP", "1", "probe");
  EXPECT_NE(outcome.text.find("rank 1 is frozen"), std::string::npos) << outcome.text;
  expect_ended(outcome);
}

}  // namespace
}  // namespace ditar
