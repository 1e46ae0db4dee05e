// Norm, modulation and gated residual.
#include "ditar/kernels/ops/norm.h"

#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

TEST(NormTest, MatchesHandValues) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded x(Shape{1, 1, 4}, dtype), shift(Shape{1, 4}, dtype), scale(Shape{1, 4}, dtype);
    Guarded h(Shape{1, 1, 4}, dtype), y(Shape{1, 1, 4}, dtype), gate(Shape{1, 4}, dtype);
    set_all(x, {1, 2, 3, 4});  // mean 2.5, variance 1.25
    set_all(shift, {0, 1, 0, -1});
    set_all(scale, {0, 0, 1, -1});
    layer_norm_modulate(x, shift, scale, 1e-6, h, {});
    const double inverse = 1.0 / std::sqrt(1.25 + 1e-6);
    const double expected[] = {-1.5 * inverse, -0.5 * inverse + 1, 0.5 * inverse * 2, -1};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(h.at(i), expected[i], 1e-6);
    set_all(y, {1, 1, 2, 2});
    set_all(gate, {0.5, 1, -1, 0});
    gate_residual(y, gate, x, {});
    const double sums[] = {1.5, 3, 1, 4};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(x.at(i), sums[i]);
  }
}

/// Rows of a (B, 3, D) table with shift, scale and gate side by side.
ConstTensorView column(Guarded& table, std::int64_t index) {
  const TensorView view = table.view();
  const std::int64_t d = view.size(2);
  const auto offset = static_cast<std::size_t>(index * d) * size_of(view.dtype());
  return ConstTensorView(static_cast<char*>(view.data()) + offset, Shape{view.size(0), d},
                         Strides{3 * d, 1}, view.dtype(), Device{});
}

TEST(NormTest, FollowsTheReferenceAndFusesWithTheSameBits) {
  for (const std::int64_t d : {1, 3, 7, 8, 17, 31, 72, 128, 130, 384, 1152}) {
    const Shape shape{3, 5, d};
    Guarded x32(shape, DType::kF32), x64(shape, DType::kF64), h32(shape, DType::kF32);
    Guarded h64(shape, DType::kF64), y32(shape, DType::kF32), y64(shape, DType::kF64);
    Guarded t32(Shape{3, 3, d}, DType::kF32), t64(Shape{3, 3, d}, DType::kF64);
    Guarded split(shape, DType::kF32), split_h(shape, DType::kF32);
    for (auto* t : {&x32, &x64, &split}) randomize(*t, 1, 3.0);
    for (auto* t : {&y32, &y64}) randomize(*t, 2);
    for (auto* t : {&t32, &t64}) randomize(*t, 3);
    gate_residual_layer_norm_modulate(y32, column(t32, 2), column(t32, 0), column(t32, 1), 1e-6,
                                      x32, h32, {});
    gate_residual_layer_norm_modulate(y64, column(t64, 2), column(t64, 0), column(t64, 1), 1e-6,
                                      x64, h64, {});
    EXPECT_LE(error_of(x32, x64), 2e-7) << d;
    EXPECT_LE(error_of(h32, h64), 3e-6) << d;
    gate_residual(y32, column(t32, 2), split, {});
    layer_norm_modulate(split, column(t32, 0), column(t32, 1), 1e-6, split_h, {});
    EXPECT_TRUE(same_bits(split.view().data(), x32.view().data(), x32.view().size_bytes()));
    EXPECT_TRUE(same_bits(split_h.view().data(), h32.view().data(), h32.view().size_bytes()));
  }
}

TEST(NormTest, BitsDependOnNeitherBatchNorThreads) {
  const Shape shape{4, 65, 130};
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded x(shape, dtype), h(shape, dtype), table(Shape{4, 3, 130}, dtype);
    randomize(x, 1);
    randomize(table, 2);
    {
      Threads one(1);
      layer_norm_modulate(x, column(table, 0), column(table, 1), 1e-6, h, {});
    }
    for (const int threads : {1, 2, 3}) {
      Threads scope(threads);
      for (std::int64_t image = 0; image < 4; ++image) {
        Guarded one(Shape{1, 65, 130}, dtype);
        layer_norm_modulate(x.view().slice(image, image + 1),
                            column(table, 0).slice(image, image + 1),
                            column(table, 1).slice(image, image + 1), 1e-6, one, {});
        EXPECT_TRUE(same_bits(one.view().data(), h.view().slice(image, image + 1).data(),
                              one.view().size_bytes()));
      }
    }
  }
}

TEST(NormTest, KeepsNanToItsRowAndRefusesByName) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded x(Shape{1, 3, 9}, dtype), table(Shape{1, 3, 9}, dtype), h(Shape{1, 3, 9}, dtype);
    Guarded narrow(Shape{1, 8}, dtype);
    randomize(x, 1);
    randomize(table, 2);
    x.set(9, std::nan(""));
    layer_norm_modulate(x, column(table, 0), column(table, 1), 1e-6, h, {});
    for (int i = 0; i < 27; ++i) EXPECT_EQ(std::isnan(h.at(i)), i / 9 == 1);
    expect_refused([&] { layer_norm_modulate(x, narrow, column(table, 1), 1e-6, h, {}); },
                   "shift has size 8 on axis 1, expected 9");
    expect_refused([&] { layer_norm_modulate(x, column(table, 0), column(table, 1), -1, h, {}); },
                   "eps");
  }
}

}  // namespace
}  // namespace ditar
