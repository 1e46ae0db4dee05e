// GPU lanes without a GPU: which cards are chosen, what is refused, what voids a quad, and what a
// group's memory on a shared card is.
#include "ditar/coordinator/lane_hardware.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/machine_guard.h"
#include "experiment/lane_metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace ditar {
namespace {

LaneConfig gpu_lane(int gpus) {
  LaneConfig lane;
  lane.name = "xl2-256-latency";
  lane.hardware = "NVIDIA RTX A5500";
  lane.gpus = lane.ranks = gpus;
  return lane;
}

MachineFacts machine_with(const std::vector<std::string>& names) {
  MachineFacts machine;
  machine.driver = true;
  machine.driver_version = "580.95.05";
  machine.cuda_version = "13.0";
  for (const std::string& name : names) {
    GpuFacts gpu;
    gpu.index = static_cast<int>(machine.gpus.size());
    gpu.name = name;
    gpu.uuid = "GPU-" + std::to_string(gpu.index);
    gpu.compute_capability = 86;
    machine.gpus.push_back(gpu);
  }
  return machine;
}

std::string refusal(const LaneConfig& lane, const MachineFacts& machine) {
  try {
    find_lane_gpus(lane, machine);
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUnavailable);
    return error.message();
  }
  return "";
}

TEST(LaneHardwareTest, PrefersTheTargetAndMarksAnyOther) {
  const auto both = machine_with({"NVIDIA H200", "NVIDIA RTX A5500"});
  const LaneGpus on = find_lane_gpus(gpu_lane(1), both);
  EXPECT_EQ(on.uuids, std::vector<std::string>{"GPU-1"});
  EXPECT_FALSE(on.off_target);
  EXPECT_EQ(on.architectures, std::vector<int>{86});
  EXPECT_EQ(hardware_key(on), "NVIDIA RTX A5500 x 1, driver 580.95.05, CUDA 13.0");
  const LaneGpus off = find_lane_gpus(gpu_lane(1), machine_with({"NVIDIA RTX A5500 Laptop GPU"}));
  EXPECT_TRUE(off.off_target);
  EXPECT_TRUE(find_lane_gpus(LaneConfig{}, MachineFacts{}).uuids.empty());
}

TEST(LaneHardwareTest, NamesWhatIsMissing) {
  MachineFacts none;
  none.notes = {"no NVIDIA driver: libnvidia-ml.so.1 cannot be loaded"};
  EXPECT_THAT(refusal(gpu_lane(1), none), testing::HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(refusal(gpu_lane(2), machine_with({"NVIDIA H200", "NVIDIA RTX A5500"})),
              testing::HasSubstr("needs 2 GPU(s)"));
  auto partitioned = machine_with({"NVIDIA RTX A5500"});
  partitioned.gpus[0].mig = true;
  EXPECT_THAT(refusal(gpu_lane(1), partitioned), testing::HasSubstr("MIG"));
}

QuadRecord guarded(const std::vector<GpuSample>& script) {
  std::size_t at = 0;
  const auto guard = make_gpu_guard([&] { return std::vector<GpuSample>{script.at(at++)}; });
  guard->start({});
  guard->begin_quad();
  guard->after_request(TimedArm::kA);
  guard->after_request(TimedArm::kB);
  QuadRecord quad;
  guard->end_quad(quad);
  return quad;
}

GpuSample sample(std::uint64_t reasons, unsigned clock,
                 std::vector<std::uint32_t> processes = {1}) {
  GpuSample out;
  out.clock_reasons = reasons;
  out.sm_clock_mhz = clock;
  out.processes = std::move(processes);
  return out;
}

TEST(GpuGuardTest, RecordsTheCapAndVoidsForHeatAndGuests) {
  const GpuSample calm = sample(0x4, 1700);
  const QuadRecord good = guarded({calm, calm, calm, sample(0x4, 1600)});
  EXPECT_FALSE(good.is_void);
  EXPECT_EQ(good.clock_reasons, 0x4U);
  EXPECT_EQ(good.sm_clock_mhz, 1600U);
  const QuadRecord hot = guarded({calm, calm, calm, sample(0x44, 900)});
  EXPECT_TRUE(hot.is_void && hot.throttled);
  EXPECT_EQ(hot.arm_during_cause, TimedArm::kB);
  EXPECT_THAT(hot.void_cause, testing::HasSubstr("hw_thermal_slowdown"));
  GpuSample slowed = calm;
  slowed.thermal_violation_ns = 5;
  const QuadRecord counted = guarded({calm, calm, slowed, slowed});
  EXPECT_TRUE(counted.throttled);
  EXPECT_EQ(counted.arm_during_cause, TimedArm::kA);
  const QuadRecord guest = guarded({calm, calm, sample(0, 1700, {1, 9}), calm});
  EXPECT_TRUE(guest.is_void);
  EXPECT_FALSE(guest.throttled);
}

class IdleSession final : public WorkerSession {
 public:
  LoadResult load(const LoadRequest&) override { return {}; }
  RunResult run(const RunRequest&) override { return {}; }
  void stop() override {}
  const std::vector<RankHello>& ranks() const override { return hellos_; }
  std::vector<pid_t> pids() const override { return {}; }

 private:
  std::vector<RankHello> hellos_;
};

TEST(SharedMemoryMeterTest, ChargesEachArmWithItsOwnMemory) {
  std::atomic<std::uint64_t> used = 1000;
  const auto meter = shared_memory_meter([&] { return used.load(); });
  const IdleSession session;
  const auto request = [&](bool is_b, std::int64_t during, std::int64_t kept) {
    meter->before_request(is_b);
    used += during;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the watcher reads every one
    used -= during - kept;
    return meter->after_request(is_b, session);
  };
  meter->begin_block();
  used += 300;
  meter->after_start(false);
  used += 200;
  meter->after_start(true);
  EXPECT_EQ(request(false, 50, 10), 350);  // A: 300 held, 50 more while it worked
  EXPECT_EQ(request(true, 20, 20), 220);   // B: 200 held, 20 more for good
  EXPECT_EQ(request(false, 0, 0), 350);    // the peak stays
  used += 400;                             // after A's answer: A's as well
  EXPECT_EQ(request(true, 0, 0), 220);
  EXPECT_EQ(request(false, 0, 0), 710);
}

}  // namespace
}  // namespace ditar
