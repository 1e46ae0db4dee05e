// Activations and add.
#include "ditar/kernels/ops/activation.h"
#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

TEST(ActivationTest, MatchesKnownValues) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded x(Shape{3}, dtype), y(Shape{3}, dtype);
    set_all(x, {0, 1, -2});
    activate(x, Activation::kGeluTanh, y, {});
    EXPECT_EQ(y.at(0), 0.0);
    EXPECT_NEAR(y.at(1), 0.8411919906082768, 1e-6);
    EXPECT_NEAR(y.at(2), -0.0454022890923, 1e-6);
    silu(x, y, {});
    EXPECT_NEAR(y.at(1), 0.7310585786300049, 1e-6);
    EXPECT_NEAR(y.at(2), -0.2384058440442351, 1e-6);
    add(x, y, y, {});
    EXPECT_NEAR(y.at(1), 1.7310585786300049, 1e-6);
  }
}

TEST(ActivationTest, FollowsTheReferenceFromEndToEnd) {
  constexpr int kCount = 40001;
  Guarded x32(Shape{kCount}, DType::kF32), x64(Shape{kCount}, DType::kF64);
  Guarded y32(Shape{kCount}, DType::kF32), y64(Shape{kCount}, DType::kF64);
  for (int i = 0; i < kCount; ++i) {
    const float value = static_cast<float>(i - 20000) * 0.005F;  // -100 .. 100
    x32.set(i, value);
    x64.set(i, value);
  }
  for (const auto activation : {Activation::kGeluTanh, Activation::kSilu}) {
    activate(x32, activation, y32, {});
    activate(x64, activation, y64, {});
    for (int i = 0; i < kCount; ++i) {
      EXPECT_NEAR(y32.at(i), y64.at(i), 1e-6 * std::abs(y64.at(i)) + 1.2e-7) << x64.at(i);
    }
  }
}

TEST(ActivationTest, BitsDependOnNeitherPlaceNorThreads) {
  constexpr int kCount = 50021;
  Guarded x(Shape{kCount}, DType::kF32), whole(Shape{kCount}, DType::kF32);
  randomize(x, 1, 4.0);
  {
    Threads one(1);
    silu(x, whole, {});
  }
  for (const int threads : {2, 3}) {
    Threads scope(threads);
    Guarded tail(Shape{kCount - 5}, DType::kF32);
    silu(x.view().slice(5, kCount), tail, {});
    EXPECT_TRUE(same_bits(tail.view().data(), whole.view().slice(5, kCount).data(),
                          tail.view().size_bytes()));
  }
}

TEST(ActivationTest, KeepsNanAndRefusesByName) {
  Guarded x(Shape{9}, DType::kF32), y(Shape{9}, DType::kF32), other(Shape{8}, DType::kF32);
  randomize(x, 1);
  x.set(8, std::nan(""));
  for (const auto activation : {Activation::kNone, Activation::kGeluTanh, Activation::kSilu}) {
    activate(x, activation, y, {});
    for (int i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(y.at(i)), i == 8);
  }
  expect_refused([&] { silu(x, other, {}); }, "y has size 8 on axis 0, expected 9");
  Tensor f16(Shape{9}, DType::kF16, Device{});
  expect_refused([&] { silu(f16, y, {}); }, "not supported for f16 on cpu");
}

}  // namespace
}  // namespace ditar
