// Faults of worker groups under real mpirun. Every case ends with LaunchFixture::TearDown(): no
// process of ours is left.
#include "ditar/config/error.h"
#include "launch_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

namespace ditar {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class LaunchFaultTest : public LaunchFixture {
 protected:
  /// A wrapper script in place of mpirun that answers --version as the real one does.
  std::string script(const std::string& body) const {
    const auto path = folder_ / "mpirun";
    std::ofstream(path) << "#!/bin/sh\n"
                           "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit 0; }\n"
                        << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
};

TEST_F(LaunchFaultTest, CrashBySignalNamesRankAndSignal) {
  for (const int rank : {0, 1}) {
    const auto failure = failure_of(plan(2), "action=segv,step=2,rank=" + std::to_string(rank));
    EXPECT_EQ(failure.phase(), WorkerPhase::kRun);
    EXPECT_EQ(failure.kind(), WorkerFailureKind::kCrash) << failure.message();
    EXPECT_EQ(failure.rank(), rank) << failure.message();
    EXPECT_EQ(failure.signal(), SIGSEGV) << failure.message();
    EXPECT_NE(failure.log_tail(), "");
  }
}

TEST_F(LaunchFaultTest, ExitWithACodeIsACrash) {
  const auto failure = failure_of(plan(1), "action=exit,step=1");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kCrash) << failure.message();
  EXPECT_EQ(failure.rank(), 0);
  EXPECT_EQ(failure.worker_exit_code(), 7);
}

TEST_F(LaunchFaultTest, ExitWithZeroInTheMiddleIsACrashToo) {
  const auto failure = failure_of(plan(2), "action=exit0,step=1,rank=1");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kCrash) << failure.message();
  EXPECT_EQ(failure.phase(), WorkerPhase::kRun);
  EXPECT_EQ(failure.rank(), 1) << failure.message();
}

TEST_F(LaunchFaultTest, CrashWhileLoadingNamesThePhase) {
  const auto failure = failure_of(plan(1), "action=segv_load");
  EXPECT_EQ(failure.phase(), WorkerPhase::kLoad);
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kCrash);
  EXPECT_EQ(failure.signal(), SIGSEGV);
}

TEST_F(LaunchFaultTest, AnEnginesErrorArrivesInItsOwnWords) {
  const auto failure = failure_of(plan(2), "action=throw,step=1,rank=1");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kError) << failure.message();
  EXPECT_EQ(failure.rank(), 1);
  EXPECT_NE(failure.message().find("block 3 step 0 gave no finite number"), std::string::npos);
  const auto load = failure_of(plan(1), "action=throw_load");
  EXPECT_EQ(load.phase(), WorkerPhase::kLoad);
  EXPECT_NE(load.message().find("damaged at offset 7"), std::string::npos);
}

TEST_F(LaunchFaultTest, FrozenRankIsAHang) {
  const auto start = Clock::now();
  const auto failure = failure_of(plan(2), "action=freeze,step=2,rank=1");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kHang) << failure.message();
  EXPECT_LT(Clock::now() - start, 12s);
}

TEST_F(LaunchFaultTest, TheGroupNamesAStalledRankOpAndStepByItself) {
  auto patient = plan(2);
  patient.deadlines.progress = 40s;
  for (const std::string action : {"freeze", "hang"}) {
    const auto start = Clock::now();
    const auto failure = failure_of(patient, "action=" + action + ",step=2,rank=1");
    EXPECT_EQ(failure.kind(), WorkerFailureKind::kHang) << failure.message();
    EXPECT_EQ(failure.rank(), 1);
    const std::string where = "the start of a step, step 2";
    EXPECT_NE(failure.message().find(where), std::string::npos) << failure.message();
    EXPECT_LT(Clock::now() - start, 12s);
  }
}

TEST_F(LaunchFaultTest, EndlessLoopIsAHangAndLeavesAStack) {
  const auto failure = failure_of(plan(1), "action=hang,step=2");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kHang) << failure.message();
  EXPECT_EQ(failure.rank(), 0);
  EXPECT_NE(failure.log_tail().find("fake-worker"), std::string::npos) << failure.log_tail();
}

TEST_F(LaunchFaultTest, SlowStepsAreNoHang) {
  auto session = WorkerSession::launch(plan(1));
  (void)session->load(load_request("ms=700"));
  EXPECT_NO_THROW((void)session->run(request(4)));  // 2.8 s, above the progress deadline
  session->stop();
}

TEST_F(LaunchFaultTest, KilledLauncherTakesTheRanksAlong) {
  auto session = WorkerSession::launch(plan(2));
  (void)session->load(load_request(""));
  const auto rank_pid = static_cast<pid_t>(session->ranks()[1].pid);
  pid_t launcher = -1;
  for (const pid_t pid : session->pids()) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    file >> name;
    if (name == "mpirun") launcher = pid;
  }
  ASSERT_GT(launcher, 0);
  ASSERT_EQ(::kill(launcher, SIGKILL), 0);
  const auto until = Clock::now() + 5s;
  while (::kill(rank_pid, 0) == 0 && Clock::now() < until) std::this_thread::sleep_for(10ms);
  const auto failure = ditar::failure_of([&] { (void)session->run(request()); });
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kCrash) << failure.message();
}

TEST_F(LaunchFaultTest, StoppedRankDiesWithItsKilledLauncher) {
  auto session = WorkerSession::launch(plan(2));
  const auto rank_pid = static_cast<pid_t>(session->ranks()[1].pid);
  ASSERT_EQ(::kill(rank_pid, SIGSTOP), 0);
  for (const pid_t pid : session->pids()) {
    if (pid != session->ranks()[0].pid && pid != rank_pid) ::kill(pid, SIGKILL);
  }
  const auto until = Clock::now() + 5s;
  while (!own_processes().empty() && Clock::now() < until) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(own_processes(), "");
}

/// A coordinator in a process of its own, killed in the middle of a run.
void run_and_die(const LaunchPlan& plan, int ready_fd, const LoadRequest& load,
                 const RunRequest& request) {
  auto session = WorkerSession::launch(plan);
  (void)session->load(load);
  (void)!::write(ready_fd, "x", 1);
  (void)session->run(request);
}

TEST_F(LaunchFaultTest, KilledCoordinatorLeavesNoOrphan) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto group = plan(2);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      run_and_die(group, ends[1], load_request("ms=200"), request(50));
    } catch (const std::exception&) {
    }
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  std::this_thread::sleep_for(300ms);
  EXPECT_NE(own_processes(), "");
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  const auto until = Clock::now() + 8s;
  while (!own_processes().empty() && Clock::now() < until) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(own_processes(), "");
}

TEST_F(LaunchFaultTest, CancelEndsARunSoon) {
  std::atomic<bool> cancel = false;
  auto cancellable = plan(2);
  cancellable.cancel = &cancel;
  auto session = WorkerSession::launch(cancellable);
  (void)session->load(load_request("ms=200"));
  std::jthread other([&] {
    std::this_thread::sleep_for(300ms);
    cancel = true;
  });
  const auto start = Clock::now();
  const auto failure = ditar::failure_of([&] { (void)session->run(request(50)); });
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kCancelled);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST_F(LaunchFaultTest, MissingMpirunIsNamedWithItsMend) {
  auto broken = plan(1);
  broken.mpirun = "/nonexistent/mpirun";
  try {
    (void)WorkerSession::launch(broken);
    ADD_FAILURE();
  } catch (const Unavailable& error) {
    EXPECT_NE(error.message().find("openmpi-bin"), std::string::npos);
    EXPECT_EQ(error.exit_code(), ExitCode::kUnavailable);
  }
  broken.mpirun = "/bin/true";  // exits 0 at once and names no version
  EXPECT_THROW((void)WorkerSession::launch(broken), Unavailable);
}

TEST_F(LaunchFaultTest, LauncherThatEndsAtOnceIsALaunchFailure) {
  auto broken = plan(1);
  broken.mpirun = script("exit 0");
  auto failure = ditar::failure_of([&] { (void)WorkerSession::launch(broken); });
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kLaunch) << failure.message();
  EXPECT_EQ(failure.worker_exit_code(), 0);
  broken.mpirun = script("echo 'unknown option --map-by' >&2; exit 213");
  failure = ditar::failure_of([&] { (void)WorkerSession::launch(broken); });
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kLaunch);
  EXPECT_EQ(failure.worker_exit_code(), 213);
  EXPECT_NE(failure.log_tail().find("unknown option"), std::string::npos);
}

TEST_F(LaunchFaultTest, HungLauncherMeetsTheHelloDeadline) {
  auto broken = plan(1);
  broken.mpirun = script("sleep 120");
  broken.deadlines.hello = 500ms;
  const auto start = Clock::now();
  const auto failure = ditar::failure_of([&] { (void)WorkerSession::launch(broken); });
  EXPECT_EQ(failure.phase(), WorkerPhase::kHello);
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kHang);
  EXPECT_LT(Clock::now() - start, 6s);
}

TEST_F(LaunchFaultTest, WrongSizeFromTheLauncherIsRefused) {
  auto wrong = plan(2);
  wrong.mpirun = script(
      "for a; do shift; [ \"$a\" = 2 ] && a=1; set -- \"$@\" \"$a\"; done; "
      "exec mpirun \"$@\"");
  const auto failure = ditar::failure_of([&] { (void)WorkerSession::launch(wrong); });
  EXPECT_EQ(failure.phase(), WorkerPhase::kHello);
  EXPECT_NE(failure.log_tail().find("the launch plan has 2 ranks, the launcher started 1"),
            std::string::npos)
      << failure.log_tail();
}

TEST_F(LaunchFaultTest, FloodOfOutputNeitherBlocksNorFillsTheDisk) {
  auto capped = plan(1);
  capped.log_cap_bytes = 1 << 20;
  capped.deadlines.progress = 15s;  // mpirun tags what it forwards, which takes its time
  auto session = WorkerSession::launch(capped);
  (void)session->load(load_request("action=flood,mib=16"));
  EXPECT_NO_THROW((void)session->run(request(2)));
  session->stop();
  EXPECT_LE(std::filesystem::file_size(folder_ / "launcher.log"), (1U << 20) + 200);
}

TEST_F(LaunchFaultTest, EndlessFloodIsReadUntilTheDeadline) {
  auto capped = plan(1);
  capped.log_cap_bytes = 1 << 16;
  const auto failure = failure_of(capped, "action=flood,mib=1000000");
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kHang) << failure.message();
  EXPECT_LE(std::filesystem::file_size(folder_ / "launcher.log"), (1U << 16) + 200);
}

TEST_F(LaunchFaultTest, DescriptorsAndThreadsReturnToBase) {
  const auto count = [](const char* what) {
    const auto path = std::filesystem::path("/proc/self") / what;
    return std::distance(std::filesystem::directory_iterator(path), {});
  };
  (void)failure_of(plan(1), "action=exit");
  const auto descriptors = count("fd");
  const auto threads = count("task");
  for (const char* fault : {"action=segv", "action=exit0", "action=throw"}) {
    (void)failure_of(plan(1), fault);
  }
  EXPECT_EQ(count("fd"), descriptors);
  EXPECT_EQ(count("task"), threads);
}

}  // namespace
}  // namespace ditar
