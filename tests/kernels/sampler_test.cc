// Guidance, sampler step, learned variance and Philox noise.
#include "ditar/kernels/ops/sampler.h"

#include "ditar/config/philox.h"
#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

TEST(SamplerTest, GuidesOnlyTheChannelsAsked) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded cond(Shape{2, 3, 1, 1}, dtype), uncond(Shape{2, 3, 1, 1}, dtype);
    Guarded out(Shape{2, 2, 1, 1}, dtype);  // a third channel is not read
    set_all(cond, {2, 4, 99, 6, 8, 99});
    set_all(uncond, {1, 1, -99, 2, 2, -99});
    guidance_combine(cond, uncond, 1.5, 1, out, {});
    const double first[] = {2.5, 4, 8, 8};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out.at(i), first[i]);
    guidance_combine(cond, uncond, 1.5, 0, out, {});
    const double all[] = {2.5, 5.5, 8, 11};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out.at(i), all[i]);
  }
}

TEST(SamplerTest, CombinesOnlyWhatHasAWeight) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded x(Shape{2, 1, 1, 1}, dtype), eps(Shape{2, 2, 1, 1}, dtype), c(Shape{2, 1, 1, 1}, dtype);
    Guarded noise(Shape{2, 1, 1, 1}, dtype), out(Shape{2, 1, 1, 1}, dtype);
    set_all(x, {1, 2});
    set_all(eps, {10, -1, 20, -1});
    set_all(c, {100, 200});
    set_all(noise, {std::nan(""), std::nan("")});
    sampler_update({.a = 2, .b = 0.5, .c = 0.25, .s = 0}, x, eps, c, noise, out, {});
    EXPECT_EQ(out.at(0), 2 + 5 + 25);
    EXPECT_EQ(out.at(1), 4 + 10 + 50);
    sampler_update({.a = 1, .b = 0, .c = 0, .s = 0}, x, {}, {}, {}, x, {});
    EXPECT_EQ(x.at(1), 2);
    sampler_update({.a = 1, .b = 0, .c = 0, .s = 1}, x, {}, {}, noise, out, {});
    EXPECT_TRUE(std::isnan(out.at(0)));
  }
}

TEST(SamplerTest, DdimScalarsOfTheContractGiveTheFormula) {
  const double now = 0.3, next = 0.6;  // alpha-bar
  Guarded x(Shape{1, 1, 1, 1}, DType::kF64), eps(x.shape(), DType::kF64),
      out(x.shape(), DType::kF64);
  set_all(x, {0.7});
  set_all(eps, {-0.4});
  const double a = std::sqrt(next / now);
  sampler_update({.a = a, .b = std::sqrt(1 - next) - a * std::sqrt(1 - now), .c = 0, .s = 0}, x,
                 eps, {}, {}, out, {});
  const double x0 = (0.7 + 0.4 * std::sqrt(1 - now)) / std::sqrt(now);
  EXPECT_NEAR(out.at(0), std::sqrt(next) * x0 - 0.4 * std::sqrt(1 - next), 1e-15);
}

TEST(SamplerTest, DdpmScalarsOfTheContractGiveTheFormula) {
  const double now = 0.3, next = 0.33;
  const double beta = 1 - now / next;
  Guarded x(Shape{1, 1, 1, 1}, DType::kF64), eps(x.shape(), DType::kF64),
      out(x.shape(), DType::kF64);
  set_all(x, {0.7});
  set_all(eps, {-0.4});
  const double weight = beta * std::sqrt(next) / (1 - now);
  const double a = (1 - next) * std::sqrt(now / next) / (1 - now) + weight / std::sqrt(now);
  const double b = -weight * std::sqrt(1 - now) / std::sqrt(now);
  sampler_update({.a = a, .b = b, .c = 0, .s = 0}, x, eps, {}, {}, out, {});
  // Ho et al. 2020, eq. 11: (x - beta / sqrt(1 - A) eps) / sqrt(1 - beta)
  EXPECT_NEAR(out.at(0), (0.7 + 0.4 * beta / std::sqrt(1 - now)) / std::sqrt(1 - beta), 1e-14);
}

TEST(SamplerTest, LearnedVarianceInterpolatesLogarithms) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded model(Shape{1, 2, 1, 3}, dtype), noise(Shape{1, 1, 1, 3}, dtype);
    Guarded x(Shape{1, 1, 1, 3}, dtype);
    set_all(model, {9, 9, 9, -1, 1, 0});
    set_all(noise, {1, 1, 2});
    set_all(x, {0, 0, 5});
    add_learned_noise(model, -4.0, -2.0, noise, x, {});
    EXPECT_NEAR(x.at(0), std::exp(-2.0), 1e-7);
    EXPECT_NEAR(x.at(1), std::exp(-1.0), 1e-7);
    EXPECT_NEAR(x.at(2), 5 + 2 * std::exp(-1.5), 1e-6);
  }
}

TEST(NoiseTest, RoundFunctionGivesTheAuthorsKnownAnswers) {
  // Random123 1.14, tests/kat_vectors, philox4x32 10.
  const PhiloxBlock zero = philox4x32_10({{0, 0, 0, 0}}, 0, 0);
  const std::uint32_t expected_zero[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const PhiloxBlock pi =
      philox4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0);
  const std::uint32_t expected_pi[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(zero.v[i], expected_zero[i]);
    EXPECT_EQ(pi.v[i], expected_pi[i]);
  }
}

TEST(NoiseTest, FollowsTheSharedDefinitionPerImageWhateverTheBatch) {
  constexpr std::int64_t kBlock = 3 * 5 * 7;
  Guarded batch(Shape{3, 3, 5, 7}, DType::kF32), one(Shape{1, 3, 5, 7}, DType::kF32);
  const std::uint64_t images[] = {4, 5ULL << 33, 6};
  fill_noise(77, images, 3, batch, {});
  for (std::size_t image = 0; image < 3; ++image) {
    std::vector<float> expected(kBlock);
    philox_normal(77, images[image], 3, expected);
    const auto row = static_cast<std::int64_t>(image);
    EXPECT_TRUE(same_bits(batch.view().slice(row, row + 1).data(), expected.data(),
                          expected.size() * sizeof(float)));
    fill_noise(77, std::span(images).subspan(image, 1), 3, one, {});
    EXPECT_TRUE(same_bits(one.view().data(), expected.data(), expected.size() * sizeof(float)));
  }
}

TEST(NoiseTest, IsStandardNormalAndDiffersBySeedImageAndStep) {
  Guarded a(Shape{1, 4, 64, 64}, DType::kF64), b(a.shape(), DType::kF64);
  const std::uint64_t zero[] = {0};
  const std::uint64_t first[] = {1};
  fill_noise(1, zero, 0, a, {});
  double sum = 0, square = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    sum += a.at(i);
    square += a.at(i) * a.at(i);
  }
  const auto count = static_cast<double>(a.count());
  EXPECT_NEAR(sum / count, 0.0, 0.04);  // 5 standard errors
  EXPECT_NEAR(square / count, 1.0, 0.06);
  fill_noise(2, zero, 0, b, {});
  EXPECT_NE(a.at(0), b.at(0));
  fill_noise(1, first, 0, b, {});
  EXPECT_NE(a.at(0), b.at(0));
  fill_noise(1, zero, 1, b, {});
  EXPECT_NE(a.at(0), b.at(0));
}

TEST(SamplerTest, RefusesWrongOperandsByName) {
  Guarded x(Shape{1, 2, 2, 2}, DType::kF32), narrow(Shape{1, 1, 2, 2}, DType::kF32);
  Guarded x64(Shape{1, 2, 2, 2}, DType::kF64), out(Shape{1, 2, 2, 2}, DType::kF32);
  expect_refused(
      [&] { sampler_update({.a = 1, .b = 1, .c = 0, .s = 0}, x, narrow, {}, {}, out, {}); },
      "eps has size 1 on axis 1, expected at least 2");
  expect_refused([&] { sampler_update({}, x64, {}, {}, {}, out, {}); }, "x has dtype f64");
  expect_refused([&] { guidance_combine(x, x, 1.5, 3, out, {}); }, "guided_channels is 3");
  expect_refused([&] { add_learned_noise(x, 0, 0, x, out, {}); },
                 "model_out has size 2 on axis 1, expected 4");
}

}  // namespace
}  // namespace ditar
