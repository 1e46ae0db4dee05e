#include "ditar/topology/roofline.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

const DeviceModel& a5500() { return *find_device_model("NVIDIA RTX A5500"); }

TEST(DeviceModelTest, MatchesTheTargetsWholeName) {
  EXPECT_TRUE(is_target_gpu("NVIDIA RTX A5500"));
  EXPECT_FALSE(is_target_gpu("NVIDIA RTX A5500 Laptop GPU"));
  EXPECT_FALSE(is_target_gpu("RTX A5500"));
  EXPECT_FALSE(is_target_gpu("NVIDIA RTXA5500-24Q"));
  EXPECT_EQ(find_device_model("NVIDIA RTX A5500 Laptop GPU"), nullptr);
}

TEST(DeviceModelTest, PeaksAgreeWithTheirDerivation) {
  EXPECT_NEAR(a5500().f16_tflops * 1e12, 80 * 1024 * 1665e6, 0.01e12 * 10);
  EXPECT_NEAR(a5500().f32_tflops * 1e12, 80.0 * 128 * 2 * 1665e6, 0.01e12 * 10);
  EXPECT_NEAR(a5500().peak_flops(Arithmetic::kTf32) * 2, a5500().peak_flops(Arithmetic::kF16), 1.0);
  for (const DeviceModel& model : device_models()) EXPECT_FALSE(model.source.empty());
}

TEST(RooflineTest, WaveEfficiencyMatchesHandCounts) {
  // 1024 x 3456: 128 x 192 tiles: 8 x 18 = 144 of 160 slots = 0.9; smaller tiles do no worse.
  EXPECT_GE(wave_efficiency(a5500(), 1024, 3456), 0.9);
  // One 64 x 64 tile on 80 multiprocessors.
  EXPECT_NEAR(wave_efficiency(a5500(), 64, 64), 1.0 / 80, 1e-12);
}

TEST(RooflineTest, ALargeProductReachesTheStatedShareOfThePeak) {
  const double n = 8192;
  const double rate = 2 * n * n * n / gemm_seconds(a5500(), Arithmetic::kF16, n, n, n);
  const double share = rate / a5500().peak_flops(Arithmetic::kF16);
  EXPECT_LE(share, a5500().matmul_efficiency);
  EXPECT_GT(share, 0.9 * a5500().matmul_efficiency);
}

TEST(RooflineTest, AThinProductIsBoundByItsWeights) {
  const double seconds = gemm_seconds(a5500(), Arithmetic::kF16, 1, 8192, 8192);
  const double traffic = 2.0 * 8192 * 8192 / (768e9 * a5500().memory_efficiency);
  EXPECT_NEAR(seconds / traffic, 1.0, 0.1);
}

TEST(RooflineTest, HalvingASmallProductDoesNotHalveItsTime) {
  const double whole = gemm_seconds(a5500(), Arithmetic::kF16, 512, 1152, 1152);
  const double half = gemm_seconds(a5500(), Arithmetic::kF16, 256, 1152, 1152);
  EXPECT_GT(half, 0.5 * whole);
  EXPECT_LE(half, whole);
}

TEST(RooflineTest, AttentionGrowsWithTheSquareOfTokens) {
  const double one = attention_seconds(a5500(), Arithmetic::kF16, 8, 16, 1024, 1024, 72);
  const double two = attention_seconds(a5500(), Arithmetic::kF16, 8, 16, 2048, 2048, 72);
  EXPECT_NEAR(two / one, 4.0, 0.4);
}

TEST(RooflineTest, SmallTrafficIsServedFromTheCache) {
  EXPECT_LT(traffic_seconds(a5500(), 1e6, 1e6), traffic_seconds(a5500(), 1e6, 1e8));
}

TEST(RooflineTest, RefusesEmptySizes) {
  EXPECT_THROW(gemm_seconds(a5500(), Arithmetic::kF16, 0, 1, 1), InvalidArgument);
  EXPECT_THROW(cpu_model(0), InvalidArgument);
}

}  // namespace
}  // namespace ditar
