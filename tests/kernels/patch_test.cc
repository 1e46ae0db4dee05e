// Patchify and unpatchify: orders written out by hand, rectangular images.
#include "ditar/kernels/ops/patch.h"

#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

TEST(PatchTest, OrdersFeaturesAsTheContractSays) {
  constexpr std::int64_t kB = 2, kC = 3, kH = 4, kW = 6, kP = 2;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded image(Shape{kB, kC, kH, kW}, dtype), tokens(Shape{kB * 6, kC * kP * kP}, dtype);
    for (std::int64_t i = 0; i < image.count(); ++i) image.set(i, static_cast<double>(i));
    patchify(image, kP, tokens, {});
    // image 1, token (row 1, column 2), channel 2, ph 1, pw 0 is pixel (3, 4).
    EXPECT_EQ(tokens.at((6 + 5) * 12 + (2 * kP + 1) * kP), ((kC + 2) * kH + 3) * kW + 4);
    EXPECT_EQ(tokens.at(1), 1.0);      // pw is fastest
    EXPECT_EQ(tokens.at(2), kW);       // then ph
    EXPECT_EQ(tokens.at(4), kH * kW);  // then c
    for (std::int64_t i = 0; i < tokens.count(); ++i) tokens.set(i, static_cast<double>(i));
    unpatchify(tokens, kP, image, {});
    EXPECT_EQ(image.at(kH * kW), 1.0);  // channel is fastest
    EXPECT_EQ(image.at(1), kC);         // then pw
    EXPECT_EQ(image.at(kW), kP * kC);   // then ph
    EXPECT_EQ(image.at(((kC + 2) * kH + 3) * kW + 4), (6 + 5) * 12 + (1 * kP + 0) * kC + 2);
  }
}

TEST(PatchTest, RefusesWrongOperandsByName) {
  Guarded image(Shape{1, 1, 5, 4}, DType::kF32), tokens(Shape{4, 4}, DType::kF32);
  Guarded even(Shape{1, 1, 4, 4}, DType::kF32), few(Shape{3, 4}, DType::kF32);
  expect_refused([&] { patchify(image, 2, tokens, {}); }, "size 5 on axis 2");
  expect_refused([&] { patchify(even, 2, few, {}); }, "tokens has size 3 on axis 0, expected 4");
  expect_refused([&] { unpatchify(tokens, 0, even, {}); }, "patch 0");
}

}  // namespace
}  // namespace ditar
