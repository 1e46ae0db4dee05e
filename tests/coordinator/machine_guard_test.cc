// The host guard on this machine: a program on the workers' CPU voids a quad, the workers' own work
// does not.
#include "ditar/coordinator/machine_guard.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace ditar {
namespace {

int last_allowed_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) last = cpu;
  }
  return last;
}

/// A child that keeps one CPU busy until the end of the scope.
class Spinner {
 public:
  explicit Spinner(int cpu) : pid_(::fork()) {
    if (pid_ != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ::sched_setaffinity(0, sizeof set, &set);
    for (volatile bool on = true; on;) {
    }
  }
  ~Spinner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

QuadRecord watched_quad(MachineGuard& guard, const std::vector<pid_t>& workers) {
  guard.start(workers);
  guard.begin_quad();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  guard.after_request(TimedArm::kA);
  QuadRecord quad;
  guard.end_quad(quad);
  return quad;
}

TEST(MachineGuardTest, ForeignWorkVoidsTheQuadAsAWhole) {
  const int cpu = last_allowed_cpu();
  const Spinner foreign(cpu);
  const auto guard = make_host_guard({cpu}, HostLimits{0.1, 1e9});
  const QuadRecord quad = watched_quad(*guard, {});
  EXPECT_TRUE(quad.is_void);
  EXPECT_FALSE(quad.throttled);
  EXPECT_EQ(quad.arm_during_cause, TimedArm::kBoth);
  EXPECT_GT(quad.foreign_load, 0.1);
  EXPECT_NE(quad.void_cause.find("other programs"), std::string::npos);
}

TEST(MachineGuardTest, OwnWorkIsNotForeign) {
  const int cpu = last_allowed_cpu();
  const Spinner worker(cpu);
  const auto watching = make_host_guard({cpu}, HostLimits{});
  const QuadRecord as_foreign = watched_quad(*watching, {});
  const QuadRecord as_own = watched_quad(*watching, {worker.pid()});
  EXPECT_FALSE(as_foreign.is_void);  // no limit: only recorded
  EXPECT_GT(as_foreign.foreign_load, as_own.foreign_load);
}

TEST(MachineGuardTest, LimitsComeFromWhatTheCalibrationSaw) {
  BlockRecord quiet;
  quiet.quads.resize(40);
  EXPECT_DOUBLE_EQ(host_limits(std::vector{quiet}).foreign_load, 0.10);
  EXPECT_DOUBLE_EQ(host_limits(std::vector{quiet}).steal, 0.03);
  for (std::size_t i = 0; i < 5; ++i)
    quiet.quads[i].foreign_load = 0.2 + 0.1 * static_cast<double>(i);
  // The two worst of forty do not count.
  EXPECT_DOUBLE_EQ(host_limits(std::vector{quiet}).foreign_load, 0.8);
  EXPECT_DOUBLE_EQ(host_limits({}).foreign_load, 0.10);
}

class Marker final : public MachineGuard {
 public:
  explicit Marker(int& calls) : calls_(calls) {}
  void start(const std::vector<pid_t>&) override { ++calls_; }
  void begin_quad() override { ++calls_; }
  void after_request(TimedArm) override { ++calls_; }
  void end_quad(QuadRecord& quad) override { quad.void_cause += "x"; }

 private:
  int& calls_;
};

TEST(MachineGuardTest, JoinedGuardsAllSeeTheQuad) {
  int calls = 0;
  std::vector<std::unique_ptr<MachineGuard>> parts;
  parts.push_back(std::make_unique<Marker>(calls));
  parts.push_back(nullptr);
  parts.push_back(std::make_unique<Marker>(calls));
  const auto joined = join_guards(std::move(parts));
  EXPECT_EQ(watched_quad(*joined, {}).void_cause, "xx");
  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace ditar
