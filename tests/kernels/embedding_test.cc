// Timestep, label and position embeddings.
#include "ditar/kernels/ops/embedding.h"

#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

TEST(EmbeddingTest, TimestepsFollowBothFrequencyRules) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded out(Shape{2, 8}, dtype);
    const double timesteps[] = {0.0, 500.0};
    for (const auto rule : {TimestepFrequencies::kOfficial, TimestepFrequencies::kDiffusers}) {
      timestep_embedding(timesteps, rule, out, {});
      const double denominator = rule == TimestepFrequencies::kOfficial ? 4.0 : 3.0;
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(out.at(i), 1.0);
        EXPECT_EQ(out.at(4 + i), 0.0);
        const double angle = 500.0 * std::pow(10000.0, -i / denominator);
        EXPECT_NEAR(out.at(8 + i), std::cos(angle), 1e-7);
        EXPECT_NEAR(out.at(12 + i), std::sin(angle), 1e-7);
      }
    }
  }
}

TEST(EmbeddingTest, LooksUpRowsAndRefusesWhatIsOutside) {
  Guarded table(Shape{3, 2}, DType::kF32), out(Shape{2, 2}, DType::kF32);
  set_all(table, {1, 2, 3, 4, 5, 6});
  const std::int32_t indices[] = {2, 0};
  embedding_lookup(table, indices, out, {});
  EXPECT_EQ(out.at(0), 5.0);
  EXPECT_EQ(out.at(3), 2.0);
  const std::int32_t bad[] = {0, 3};
  expect_refused([&] { embedding_lookup(table, bad, out, {}); }, "has 3 at position 1");
  const std::int32_t negative[] = {-1, 0};
  expect_refused([&] { embedding_lookup(table, negative, out, {}); }, "has -1 at position 0");
}

TEST(EmbeddingTest, AddsPositionRowsToEachImage) {
  Guarded rows(Shape{2, 2}, DType::kF64), x(Shape{2, 2, 2}, DType::kF64);
  set_all(rows, {1, 2, 3, 4});
  set_all(x, {0, 0, 0, 0, 10, 10, 10, 10});
  add_rows(rows, x, {});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(x.at(i), 1 + i % 4 + (i / 4) * 10);
}

TEST(EmbeddingTest, RefusesAnOddWidth) {
  Guarded out(Shape{1, 7}, DType::kF32);
  const double timesteps[] = {1.0};
  expect_refused([&] { timestep_embedding(timesteps, TimestepFrequencies::kOfficial, out, {}); },
                 "axis 1");
}

}  // namespace
}  // namespace ditar
