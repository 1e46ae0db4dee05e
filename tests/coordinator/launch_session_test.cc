// A worker group that does what it should, under real mpirun.
#include "ditar/config/error.h"
#include "fake_engine.h"
#include "launch_fixture.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace ditar {
namespace {

class LaunchSessionTest : public LaunchFixture {};

TEST_F(LaunchSessionTest, RunsRequestsOnOneRankAndEndsCleanly) {
  auto session = WorkerSession::launch(plan(1));
  EXPECT_EQ(session->load(load_request("")).model.parameters, 42);
  for (int steps = 1; steps <= 4; ++steps) {
    const auto work = request(steps);
    const auto result = session->run(work);
    EXPECT_EQ(result.latents, expected_latents(work.latents, work.schedule.timesteps));
    EXPECT_GT(result.elapsed_ns, 0);
    ASSERT_EQ(result.ranks.size(), 1U);
    ASSERT_EQ(result.ranks[0].phases.size(), 1U);
    EXPECT_EQ(result.ranks[0].phases[0].calls, steps);
    EXPECT_GT(result.ranks[0].resident_bytes, 1 << 20);
  }
  EXPECT_NO_THROW(session->stop());
  EXPECT_NO_THROW(session->stop());
  EXPECT_THROW((void)session->run(request()), InvalidArgument);
}

TEST_F(LaunchSessionTest, GathersReportsOfTwoRanks) {
  auto session = WorkerSession::launch(plan(2));
  const auto loaded = session->load(load_request(""));
  ASSERT_EQ(loaded.ranks.size(), 2U);
  const auto work = request();
  const auto result = session->run(work);
  EXPECT_EQ(result.latents, expected_latents(work.latents, work.schedule.timesteps));
  ASSERT_EQ(result.ranks.size(), 2U);
  EXPECT_EQ(result.ranks[1].rank, 1);
  EXPECT_EQ(result.ranks[1].peak_bytes, 2001);
  session->stop();
}

TEST_F(LaunchSessionTest, CarriesRequestsOfSeveralFrames) {
  auto session = WorkerSession::launch(plan(1));
  (void)session->load(load_request(""));
  RunRequest work = request(2);
  work.height = 1024;
  work.width = 512;
  work.latents.assign(1024 * 1024, 0.5F);  // 4 MiB
  work.latents.back() = 7.0F;
  EXPECT_EQ(session->run(work).latents, expected_latents(work.latents, work.schedule.timesteps));
  session->stop();
}

TEST_F(LaunchSessionTest, PassesOnWhatIsNotFinite) {
  auto session = WorkerSession::launch(plan(1));
  (void)session->load(load_request("action=nan"));
  EXPECT_TRUE(std::isnan(session->run(request()).latents[0]));
  session->stop();
}

TEST_F(LaunchSessionTest, PinsRanksAndSaysSo) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) last = cpu;
  }
  auto pinned = plan(1);
  pinned.placements[0].cpus = {last};
  auto session = WorkerSession::launch(pinned);
  const RankHello& hello = session->ranks().front();
  EXPECT_EQ(hello.cpus, std::vector<int>{last});
  EXPECT_EQ(hello.omp_wait_policy, "passive");
  EXPECT_EQ(hello.threads, 1);
  const auto pids = session->pids();
  EXPECT_NE(std::find(pids.begin(), pids.end(), static_cast<pid_t>(hello.pid)), pids.end());
  session->stop();
}

TEST_F(LaunchSessionTest, DropsTheCallersEnvironmentExceptWhatIsAllowed) {
  ::setenv("DITAR_SECRET_OF_CALLER", "1", 1);
  auto session = WorkerSession::launch(plan(1));
  std::ifstream file("/proc/" + std::to_string(session->ranks().front().pid) + "/environ");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str().find("DITAR_SECRET_OF_CALLER"), std::string::npos);
  EXPECT_NE(text.str().find("OMP_NUM_THREADS=1"), std::string::npos);
  std::ifstream line("/proc/" + std::to_string(session->ranks().front().pid) + "/cmdline");
  std::stringstream arguments;
  arguments << line.rdbuf();
  EXPECT_EQ(text.str().find("DITAR_NONCE=" + arguments.str()), std::string::npos);
  session->stop();
  ::unsetenv("DITAR_SECRET_OF_CALLER");
}

/// User and system time of a process in clock ticks, from /proc.
long ticks_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream rest(text.str().substr(text.str().rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  long user = 0;
  long system = 0;
  rest >> user >> system;
  return user + system;
}

TEST_F(LaunchSessionTest, IdleRanksUseNoProcessor) {
  auto session = WorkerSession::launch(plan(2));
  (void)session->load(load_request(""));
  (void)session->run(request());
  std::vector<long> before;
  for (const RankHello& rank : session->ranks()) before.push_back(ticks_of(rank.pid));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  for (std::size_t r = 0; r < before.size(); ++r) {
    // 200 ticks passed; a rank that spins in MPI or OpenMP would have used most of them.
    EXPECT_LE(ticks_of(session->ranks()[r].pid) - before[r], 4) << "rank " << r;
  }
  session->stop();
}

TEST_F(LaunchSessionTest, KeepsItsLeaseWhileTheCallerIsBusyElsewhere) {
  auto leased = plan(1);
  leased.environment["DITAR_LEASE_MS"] = "2500";
  auto session = WorkerSession::launch(leased);
  (void)session->load(load_request(""));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  EXPECT_NO_THROW((void)session->run(request()));
  session->stop();
}

TEST_F(LaunchSessionTest, TwoSessionsLiveSideBySide) {
  auto other_plan = plan(1);
  other_plan.run_directory = folder_ / "b";
  std::filesystem::create_directory(other_plan.run_directory);
  auto first = WorkerSession::launch(plan(1));
  auto second = WorkerSession::launch(other_plan);
  (void)first->load(load_request(""));
  (void)second->load(load_request(""));
  const auto work = request();
  EXPECT_EQ(first->run(work).latents, second->run(work).latents);
  first.reset();  // without stop: the destructor reaps
  EXPECT_EQ(second->run(work).latents, expected_latents(work.latents, work.schedule.timesteps));
  second->stop();
}

TEST_F(LaunchSessionTest, RefusesPlansThatCannotBe) {
  auto none = plan(1);
  none.placements.clear();
  EXPECT_THROW((void)WorkerSession::launch(none), InvalidArgument);
  auto missing = plan(1);
  missing.worker = "/nonexistent/worker";
  EXPECT_THROW((void)WorkerSession::launch(missing), InvalidArgument);
  auto relative = plan(1);
  relative.worker = "bin/dit-worker";
  EXPECT_THROW((void)WorkerSession::launch(relative), InvalidArgument);
  auto nowhere = plan(1);
  nowhere.run_directory = folder_ / "nonexistent";
  EXPECT_THROW((void)WorkerSession::launch(nowhere), InvalidArgument);
  auto far = plan(2);
  far.hosts = {{"node-a", 1}, {"node-b", 1}};
  EXPECT_THROW((void)WorkerSession::launch(far), InvalidArgument);
}

}  // namespace
}  // namespace ditar
