#include "ditar/coordinator/machine_guard.h"

#include "ditar/topology_nvml/machine_facts.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace ditar {
namespace {

constexpr double kLeastForeignLimit = 0.10;
constexpr double kLeastStealLimit = 0.03;
constexpr double kTicksOfRounding = 3.0;

/// CPU time in clock ticks.
struct HostSample {
  double busy = 0.0, steal = 0.0, own = 0.0;
  std::chrono::steady_clock::time_point at;
};

class HostGuard final : public MachineGuard {
 public:
  HostGuard(std::vector<int> cpus, const HostLimits& limits)
      : cpus_(std::move(cpus)), limits_(limits) {}

  void start(const std::vector<pid_t>& workers) override { workers_ = workers; }
  void begin_quad() override { first_ = sample(); }
  void after_request(TimedArm) override {}

  void end_quad(QuadRecord& quad) override {
    const HostSample last = sample();
    const double seconds = std::chrono::duration<double>(last.at - first_.at).count();
    const double ticks =
        seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)) * static_cast<double>(cpus_.size());
    const double rounding = kTicksOfRounding * static_cast<double>(cpus_.size());
    if (ticks <= 0.0) return;
    const double own = last.own - first_.own;
    const double foreign = last.busy - first_.busy - own;
    const double steal = last.steal - first_.steal;
    quad.foreign_load = foreign < rounding ? 0.0 : foreign / ticks;
    quad.steal = steal < rounding ? 0.0 : steal / ticks;
    judge(quad, quad.foreign_load, limits_.foreign_load, "other programs on the workers' CPUs");
    judge(quad, quad.steal, limits_.steal, "CPU time taken away by the host");
  }

 private:
  static void judge(QuadRecord& quad, double share, double limit, const char* what) {
    if (quad.is_void || share <= limit) return;
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.0f %% (limit %.0f %%)", what, 100.0 * share,
                  100.0 * limit);
    quad.is_void = true;
    quad.void_cause = text;
    quad.arm_during_cause = TimedArm::kBoth;
  }

  HostSample sample() const {
    HostSample out;
    out.at = std::chrono::steady_clock::now();
    std::ifstream stat("/proc/stat");
    for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
      std::istringstream words(line.substr(3));
      int cpu = -1;
      if (line[3] == ' ' || !(words >> cpu)) continue;
      if (std::find(cpus_.begin(), cpus_.end(), cpu) == cpus_.end()) continue;
      double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, soft = 0, steal = 0;
      words >> user >> nice >> system >> idle >> iowait >> irq >> soft >> steal;
      out.busy += user + nice + system + irq + soft;
      out.steal += steal;
    }
    for (const pid_t pid : workers_) out.own += ticks_of(pid);
    return out;
  }

  /// utime + stime, fields 14 and 15; 0 for a process that is gone.
  static double ticks_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0.0;
    std::istringstream words(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) words >> skipped;
    double user = 0.0, system = 0.0;
    words >> user >> system;
    return user + system;
  }

  std::vector<int> cpus_;
  HostLimits limits_;
  std::vector<pid_t> workers_;
  HostSample first_;
};

class GpuGuard final : public MachineGuard {
 public:
  explicit GpuGuard(std::function<std::vector<GpuSample>()> sample) : sample_(std::move(sample)) {}

  void start(const std::vector<pid_t>&) override {
    residents_.clear();
    for (const GpuSample& gpu : sample_()) {
      residents_.push_back(gpu.processes.value_or(std::vector<std::uint32_t>{}));
    }
  }
  void begin_quad() override {
    reasons_ = 0;
    least_clock_ = 0;
    cause_.clear();
    arm_ = TimedArm::kNone;
    heat_ns_ = heat(sample_());
  }
  void after_request(TimedArm arm) override { look(sample_(), arm); }

  void end_quad(QuadRecord& quad) override {
    quad.clock_reasons |= reasons_;
    quad.sm_clock_mhz = least_clock_;
    if (cause_.empty() || quad.is_void) return;
    quad.is_void = true;
    quad.throttled = throttled_;
    quad.void_cause = cause_;
    quad.arm_during_cause = arm_;
  }

 private:
  static std::vector<std::uint64_t> heat(const std::vector<GpuSample>& gpus) {
    std::vector<std::uint64_t> out;
    for (const GpuSample& gpu : gpus) out.push_back(gpu.thermal_violation_ns.value_or(0));
    return out;
  }

  void look(const std::vector<GpuSample>& gpus, TimedArm arm) {
    const std::vector<std::uint64_t> now = heat(gpus);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const GpuSample& gpu = gpus[i];
      const std::uint64_t bits = gpu.clock_reasons.value_or(0);
      reasons_ |= bits;
      const unsigned clock = gpu.sm_clock_mhz.value_or(0);
      if (clock > 0 && (least_clock_ == 0 || clock < least_clock_)) least_clock_ = clock;
      if (clocks_are_faulty(bits)) {
        std::string names;
        for (const std::string& name : clock_reason_names(bits)) names += " " + name;
        blame(arm, true, "the clocks of a GPU were held down:" + names);
      } else if (i < heat_ns_.size() && now[i] > heat_ns_[i]) {
        blame(arm, true, "heat held the clocks of a GPU down");
      }
      for (const std::uint32_t pid : gpu.processes.value_or(std::vector<std::uint32_t>{})) {
        if (i < residents_.size() &&
            !std::binary_search(residents_[i].begin(), residents_[i].end(), pid)) {
          blame(TimedArm::kBoth, false,
                "process " + std::to_string(pid) + " came to compute on a GPU");
        }
      }
    }
    heat_ns_ = now;
  }

  void blame(TimedArm arm, bool throttled, const std::string& cause) {
    if (!cause_.empty()) return;
    cause_ = cause;
    throttled_ = throttled;
    arm_ = arm;
  }

  std::function<std::vector<GpuSample>()> sample_;
  std::vector<std::vector<std::uint32_t>> residents_;
  std::vector<std::uint64_t> heat_ns_;
  std::uint64_t reasons_ = 0;
  unsigned least_clock_ = 0;
  std::string cause_;
  bool throttled_ = false;
  TimedArm arm_ = TimedArm::kNone;
};

class JoinedGuard final : public MachineGuard {
 public:
  explicit JoinedGuard(std::vector<std::unique_ptr<MachineGuard>> guards)
      : guards_(std::move(guards)) {
    std::erase(guards_, nullptr);
  }
  void start(const std::vector<pid_t>& workers) override {
    for (const auto& guard : guards_) guard->start(workers);
  }
  void begin_quad() override {
    for (const auto& guard : guards_) guard->begin_quad();
  }
  void after_request(TimedArm arm) override {
    for (const auto& guard : guards_) guard->after_request(arm);
  }
  void end_quad(QuadRecord& quad) override {
    for (const auto& guard : guards_) guard->end_quad(quad);
  }

 private:
  std::vector<std::unique_ptr<MachineGuard>> guards_;
};

double limit_from(std::vector<double> seen, double least) {
  if (seen.empty()) return least;
  std::sort(seen.begin(), seen.end());
  const std::size_t at = seen.size() - 1 - seen.size() / 20;
  return std::max(least, 2.0 * seen[at]);
}

}  // namespace

HostLimits host_limits(std::span<const BlockRecord> blocks) {
  std::vector<double> foreign, steal;
  for (const BlockRecord& block : blocks) {
    for (const QuadRecord& quad : block.quads) {
      foreign.push_back(quad.foreign_load);
      steal.push_back(quad.steal);
    }
  }
  return {limit_from(std::move(foreign), kLeastForeignLimit),
          limit_from(std::move(steal), kLeastStealLimit)};
}

std::unique_ptr<MachineGuard> make_host_guard(std::vector<int> cpus, const HostLimits& limits) {
  return std::make_unique<HostGuard>(std::move(cpus), limits);
}

std::unique_ptr<MachineGuard> make_gpu_guard(std::function<std::vector<GpuSample>()> sample) {
  return std::make_unique<GpuGuard>(std::move(sample));
}

std::unique_ptr<MachineGuard> join_guards(std::vector<std::unique_ptr<MachineGuard>> guards) {
  return std::make_unique<JoinedGuard>(std::move(guards));
}

}  // namespace ditar
