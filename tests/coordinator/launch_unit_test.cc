#include "ditar/config/error.h"
#include "exit_notice.h"
#include "hello_check.h"
#include "launch_environment.h"
#include "launched_group.h"
#include "mpirun_command.h"
#include "temp_folder.h"
#include "worker_traces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace ditar {
namespace {

LaunchPlan two_ranks() {
  LaunchPlan plan;
  plan.worker = "/opt/dit-worker";
  plan.placements = {{"GPU-a", 2, {0, 1}}, {"GPU-b", 1, {2}}};
  return plan;
}

std::string line(const std::vector<std::string>& argv) {
  std::string text;
  for (const auto& part : argv) text += (text.empty() ? "" : " ") + part;
  return text;
}

TEST(MpirunCommandTest, ReadsVersions) {
  EXPECT_EQ(parse_mpirun_version("/m", "mpirun (Open MPI) 4.1.4\n\nReport bugs").minor, 1);
  EXPECT_EQ(parse_mpirun_version("/m", "mpirun (Open MPI) 5.0.3").major, 5);
  EXPECT_EQ(parse_mpirun_version("/m", "HYDRA build details:").major, 0);
}

TEST(MpirunCommandTest, WritesTheLineOfBothGenerations) {
  auto plan = two_ranks();
  const auto old = line(mpirun_command(plan, {"/usr/bin/mpirun", 4, 1}, {"A"}, "ipc:///x", "ff"));
  EXPECT_EQ(old,
            "/usr/bin/mpirun -np 2 --host localhost:2 --map-by slot --bind-to none --tag-output "
            "--mca orte_keep_fqdn_hostnames 1 --mca odls_base_sigkill_timeout 0 --mca btl "
            "self,vader -x A /opt/dit-worker --coord "
            "ipc:///x --attempt ff");
  const auto five = line(mpirun_command(plan, {"/usr/bin/mpirun", 5, 0}, {"A"}, "ipc:///x", "ff"));
  EXPECT_EQ(five.find("orte"), std::string::npos);
  EXPECT_NE(five.find("--output tag --mca btl self,sm"), std::string::npos);
  plan.wrapper = {"/usr/bin/nice", "-n", "1"};
  plan.hosts = {{"a", 1}, {"b", 1}};
  plan.network_interface = "eth0";
  const auto far = line(mpirun_command(plan, {"/usr/bin/mpirun", 4, 1}, {}, "tcp://1", "ff"));
  EXPECT_TRUE(far.starts_with("/usr/bin/nice -n 1 /usr/bin/mpirun -np 2 --host a:1,b:1")) << far;
  EXPECT_NE(far.find("--mca btl_tcp_if_include eth0"), std::string::npos);
}

TEST(LaunchEnvironmentTest, PinsThreadsAndPassesPlacements) {
  auto plan = two_ranks();
  plan.environment_allow = {};
  plan.environment["DITAR_NONCE"] = "forged";
  const auto variables = launch_environment(plan, {"aa", "secret", "", "/tmp/d"});
  EXPECT_EQ(variables.at("DITAR_PLACEMENT"), "GPU-a/2/0,1;GPU-b/1/2");
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(variables.at("OMP_WAIT_POLICY"), "passive");
  EXPECT_EQ(variables.at("DITAR_NONCE"), "secret");
  EXPECT_EQ(variables.at("TMPDIR"), "/tmp/d");
  EXPECT_FALSE(variables.contains("PATH"));
}

GroupHello good_hello() {
  GroupHello hello;
  hello.nonce = "n";
  hello.build_hash = "h";
  hello.ranks = {{0, 2, "host", 1, "GPU-a", "", {0, 1}, 2, "passive"},
                 {1, 2, "host", 2, "GPU-b", "", {2}, 1, "passive"}};
  return hello;
}

TEST(HelloCheckTest, AcceptsWhatIsPlannedAndNamesWhatIsNot) {
  const auto plan = two_ranks();
  EXPECT_EQ(hello_objection(good_hello(), plan, "n", "h"), "");
  EXPECT_NE(hello_objection(good_hello(), plan, "other", "h"), "");
  EXPECT_NE(hello_objection(good_hello(), plan, "n", "other"), "");
  auto wrong = good_hello();
  wrong.ranks[1].cpus = {3};
  EXPECT_EQ(hello_objection(wrong, plan, "n", "h"), "rank 1 may run on CPUs 3, the plan says 2");
  wrong = good_hello();
  wrong.ranks[1].rank = 0;
  EXPECT_NE(hello_objection(wrong, plan, "n", "h"), "");
  auto doubled = plan;
  doubled.placements[1].device = "GPU-a";
  wrong = good_hello();
  wrong.ranks[1].device = "GPU-a";
  EXPECT_EQ(hello_objection(wrong, doubled, "n", "h"), "two ranks are on GPU GPU-a of host");
}

TEST(ExitNoticeTest, ReadsOpenMpisWords) {
  const auto by_signal = read_exit_notice(
      "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 11 (Segmentation "
      "fault).\n");
  EXPECT_EQ(by_signal.rank, 1);
  EXPECT_EQ(by_signal.signal, 11);
  const auto by_code = read_exit_notice("  Process name: [[62003,1],3]\n  Exit code:    7\n");
  EXPECT_EQ(by_code.rank, 3);
  EXPECT_EQ(by_code.exit_code, 7);
  EXPECT_FALSE(read_exit_notice("all is well").found());
}

TEST(TemporaryFolderTest, SweepsWhatADeadProcessLeftAndNothingElse) {
  const TempFolder parent;
  for (const char* name : {"ditar-dead", "ditar-alive", "ditar-without", "other-dead"}) {
    std::filesystem::create_directories(parent / name / "home");
    if (std::string(name) != "ditar-without") std::ofstream(parent / name / "lock") << "\n";
  }
  const FileLock alive(parent / "ditar-alive/lock");
  sweep_temporary_folders(parent.path());
  EXPECT_FALSE(std::filesystem::exists(parent / "ditar-dead"));
  for (const char* name : {"ditar-alive", "ditar-without", "other-dead"}) {
    EXPECT_TRUE(std::filesystem::exists(parent / name / "home")) << name;
  }
  std::filesystem::path own;
  {
    const TemporaryFolder folder;
    own = folder.path();
    sweep_temporary_folders(own.parent_path());
    EXPECT_TRUE(std::filesystem::exists(own)) << "a living folder was swept";
  }
  EXPECT_FALSE(std::filesystem::exists(own));
}

TEST(WorkerTracesTest, NamesFilesProcessesAndMadeUpFigures) {
  const TempFolder home;
  std::filesystem::create_directory(home.path() / "cuda");
  EXPECT_TRUE(files_left(home.path()).empty());
  std::ofstream(home.path() / "replay-1") << "x";
  EXPECT_EQ(files_left(home.path()), std::vector<std::string>{"replay-1"});
  const pid_t self = ::getpid();
  EXPECT_TRUE(processes_beyond({self}, {self}).empty());
  EXPECT_TRUE(processes_beyond({-1}, {self}).empty());
  ASSERT_EQ(processes_beyond({1}, {self}).size(), 1U);
  EXPECT_EQ(imitated_figure("loading\nspeedup 9\n"), "speedup 9");
  EXPECT_EQ(imitated_figure("[info] loading 3 blocks"), "");
}

}  // namespace
}  // namespace ditar
