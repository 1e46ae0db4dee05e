#include "ditar/planner/step_groups.h"

#include "ditar/config/error.h"
#include "ditar/planner/step_cost.h"

#include <gtest/gtest.h>

#include <map>

namespace ditar {
namespace {

LaneShape forward(int rows, int latent) {
  LaneShape lane;
  lane.images = rows;
  lane.height = lane.width = latent;
  lane.guidance = 1.0;
  return lane;
}

std::map<std::string, StepGroup> groups_of(const LaneShape& lane, const DeviceModel& device) {
  std::map<std::string, StepGroup> groups;
  for (const StepGroup& group : predict_groups(dit_model("DiT-XL/2"), lane, device)) {
    groups[group.name] = group;
  }
  return groups;
}

TEST(StepGroupsTest, AddUpToThePlannersStep) {
  for (const char* gpu : {"NVIDIA RTX A5500", "NVIDIA H200"}) {
    for (const LaneShape& lane : {forward(2, 32), forward(32, 32), forward(8, 64)}) {
      const DeviceModel& device = *find_device_model(gpu);
      double sum = 0.0;
      for (const auto& [name, group] : groups_of(lane, device)) sum += group.seconds;
      const StepCost cost = predict_step(dit_model("DiT-XL/2"), lane, Plan{}, device, {}, {0});
      EXPECT_NEAR(sum, cost.seconds(), 1e-9 * cost.seconds()) << gpu;
    }
  }
}

TEST(StepGroupsTest, NamesTheProductsOfABlock) {
  const auto groups = groups_of(forward(2, 32), *find_device_model("NVIDIA RTX A5500"));
  for (const char* name : {"linear 512x3456x1152", "linear 512x1152x1152", "linear 512x4608x1152",
                           "linear 512x1152x4608"}) {
    ASSERT_EQ(groups.count(name), 1U) << name;
    EXPECT_EQ(groups.at(name).calls, 28) << name;
  }
  EXPECT_DOUBLE_EQ(groups.at("linear 512x3456x1152").flops, 28.0 * 2 * 512 * 3456 * 1152);
  EXPECT_DOUBLE_EQ(groups.at("attention").flops, 28.0 * 4 * 2 * 256 * 256 * 1152);
  EXPECT_EQ(groups.at("norm").calls, 56);
}

TEST(StepGroupsTest, NoProductBeatsThePeakOrTheMemory) {
  const DeviceModel& device = *find_device_model("NVIDIA RTX A5500");
  for (const auto& [name, group] : groups_of(forward(32, 32), device)) {
    if (name.rfind("linear", 0) != 0) continue;
    EXPECT_GE(group.seconds, group.flops / 136.4e12) << name;
    EXPECT_GE(group.seconds, group.bytes / 768e9) << name;
  }
}

TEST(StepGroupsTest, AClockMovesArithmeticAndNothingElse) {
  const DeviceModel& boost = *find_device_model("NVIDIA RTX A5500");
  const DeviceModel slow = boost.at_clock(1665.0 / 2);
  EXPECT_DOUBLE_EQ(slow.peak_flops(Arithmetic::kF16), 68.2e12);
  EXPECT_DOUBLE_EQ(slow.memory_gb_per_s, boost.memory_gb_per_s);
  const auto fast_groups = groups_of(forward(32, 32), boost);
  const auto slow_groups = groups_of(forward(32, 32), slow);
  const std::string product = "linear 8192x4608x1152";
  EXPECT_GT(slow_groups.at(product).seconds, 1.9 * fast_groups.at(product).seconds);
  EXPECT_DOUBLE_EQ(slow_groups.at("norm").seconds, fast_groups.at("norm").seconds);
  EXPECT_THROW(cpu_model(4).at_clock(1000), InvalidArgument);
  EXPECT_THROW(boost.at_clock(0), InvalidArgument);
}

}  // namespace
}  // namespace ditar
