// Linear: hand values, FP32 against FP64, bits over batch and threads, refusals.
#include "ditar/kernels/ops/linear.h"

#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

constexpr double kF32Tolerance = 2e-6;  // of the largest output, K <= 1536

TEST(LinearTest, MatchesHandValues) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded weight(Shape{2, 3}, dtype), bias(Shape{2}, dtype), x(Shape{2, 3}, dtype);
    Guarded y(Shape{2, 2}, dtype), gate(Shape{2, 2}, dtype), residual(Shape{2, 2}, dtype);
    set_all(weight, {1, 2, 3, -1, 0, 1});
    set_all(bias, {0.5, -0.5});
    set_all(x, {1, 1, 1, 2, 0, -1});
    set_all(gate, {2, 3, -1, 10});
    set_all(residual, {100, 200, 300, 400});
    const Linear linear(weight, bias, {});
    linear.run(x, y, {});
    const double plain[] = {6.5, -0.5, -0.5, -3.5};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), plain[i]);
    LinearEpilogue epilogue;
    epilogue.gate = gate;
    epilogue.rows_per_image = 1;
    epilogue.residual = residual;
    linear.run(x, y, epilogue, {});
    const double gated[] = {113, 198.5, 300.5, 365};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), gated[i]);
    epilogue = {};
    epilogue.activation = Activation::kSilu;
    linear.run(x, y, epilogue, {});
    EXPECT_NEAR(y.at(0), 6.5 / (1 + std::exp(-6.5)), 1e-6);
  }
}

struct Case {
  std::int64_t m, n, k;
};

void compare(const Case& c, Activation activation) {
  Guarded w32(Shape{c.n, c.k}, DType::kF32), w64(Shape{c.n, c.k}, DType::kF64);
  Guarded b32(Shape{c.n}, DType::kF32), b64(Shape{c.n}, DType::kF64);
  Guarded x32(Shape{c.m, c.k}, DType::kF32), x64(Shape{c.m, c.k}, DType::kF64);
  Guarded r32(Shape{c.m, c.n}, DType::kF32), r64(Shape{c.m, c.n}, DType::kF64);
  Guarded y32(Shape{c.m, c.n}, DType::kF32), y64(Shape{c.m, c.n}, DType::kF64);
  const double deviation = 1.0 / std::sqrt(static_cast<double>(c.k));
  for (auto* t : {&w32, &w64}) randomize(*t, 1, deviation);
  for (auto* t : {&b32, &b64}) randomize(*t, 2);
  for (auto* t : {&x32, &x64}) randomize(*t, 3);
  for (auto* t : {&r32, &r64}) randomize(*t, 4);
  LinearEpilogue e32, e64;
  e32.activation = e64.activation = activation;
  e32.residual = r32;
  e64.residual = r64;
  Linear(w32, b32, {}).run(x32, y32, e32, {});
  Linear(w64, b64, {}).run(x64, y64, e64, {});
  EXPECT_LE(error_of(y32, y64), kF32Tolerance) << c.m << " " << c.n << " " << c.k;
}

TEST(LinearTest, FollowsTheReferenceOverOddShapes) {
  for (const Case& c : {Case{1, 1, 1},
                        {5, 17, 3},
                        {7, 16, 128},
                        {49, 384, 128},
                        {98, 32, 130},
                        {130, 33, 72},
                        {64, 100, 1536},
                        {13, 6 * 72, 72},
                        {2, 768, 384}}) {
    for (const auto activation : {Activation::kNone, Activation::kGeluTanh, Activation::kSilu}) {
      compare(c, activation);
    }
  }
}

TEST(LinearTest, ReferenceMatchesPlainLoops) {
  Guarded w(Shape{19, 37}, DType::kF64), x(Shape{11, 37}, DType::kF64),
      y(Shape{11, 19}, DType::kF64);
  randomize(w, 1);
  randomize(x, 2);
  Linear(w, {}, {}).run(x, y, {});
  for (int m = 0; m < 11; ++m) {
    for (int n = 0; n < 19; ++n) {
      double sum = 0;
      for (int k = 0; k < 37; ++k) sum += x.at(m * 37 + k) * w.at(n * 37 + k);
      EXPECT_NEAR(y.at(m * 19 + n), sum, 1e-12);
    }
  }
}

TEST(LinearTest, BitsOfARowDependOnNeitherBatchNorThreads) {
  constexpr std::int64_t kRows = 130, kN = 100, kK = 136;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded w(Shape{kN, kK}, dtype), b(Shape{kN}, dtype), x(Shape{kRows, kK}, dtype);
    Guarded whole(Shape{kRows, kN}, dtype);
    randomize(w, 1);
    randomize(b, 2);
    randomize(x, 3);
    const Linear linear(w, b, {});
    LinearEpilogue epilogue;
    epilogue.activation = Activation::kGeluTanh;
    {
      Threads one(1);
      linear.run(x, whole, epilogue, {});
    }
    for (const int threads : {1, 2, 3}) {
      Threads scope(threads);
      for (std::int64_t rows = 1; rows <= kRows; rows += rows < 20 ? 1 : 11) {
        const std::int64_t begin = kRows - rows;
        Guarded part(Shape{rows, kN}, dtype);
        linear.run(x.view().slice(begin, kRows), part, epilogue, {});
        ASSERT_TRUE(same_bits(part.view().data(), whole.view().slice(begin, kRows).data(),
                              part.view().size_bytes()))
            << rows << " rows, " << threads << " threads";
      }
    }
  }
}

TEST(LinearTest, KeepsNanToItsRow) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded w(Shape{20, 16}, dtype), x(Shape{8, 16}, dtype), y(Shape{8, 20}, dtype);
    randomize(w, 1);
    randomize(x, 2);
    x.set(3 * 16 + 5, std::nan(""));
    for (const auto activation : {Activation::kNone, Activation::kGeluTanh, Activation::kSilu}) {
      LinearEpilogue epilogue;
      epilogue.activation = activation;
      Linear(w, {}, {}).run(x, y, epilogue, {});
      for (int i = 0; i < 8 * 20; ++i) EXPECT_EQ(std::isnan(y.at(i)), i / 20 == 3);
    }
  }
}

TEST(LinearTest, ReadsStridedRowsAndWritesOnlyItsColumns) {
  Guarded w(Shape{18, 16}, DType::kF32), x(Shape{5, 40}, DType::kF32), y(Shape{5, 30}, DType::kF32);
  Guarded dense_x(Shape{5, 16}, DType::kF32), dense_y(Shape{5, 18}, DType::kF32);
  randomize(w, 1);
  randomize(x, 2);
  for (int i = 0; i < 150; ++i) y.set(i, 7);
  for (int i = 0; i < 80; ++i) dense_x.set(i, x.at(i / 16 * 40 + i % 16));
  const ConstTensorView xs(x.view().data(), Shape{5, 16}, Strides{40, 1}, DType::kF32, Device{});
  const TensorView ys(y.view().data(), Shape{5, 18}, Strides{30, 1}, DType::kF32, Device{});
  const Linear linear(w, {}, {});
  linear.run(xs, ys, {});
  linear.run(dense_x, dense_y, {});
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(y.at(i), i % 30 < 18 ? dense_y.at(i / 30 * 18 + i % 30) : 7.0);
  }
}

TEST(LinearTest, RefusesWrongOperandsByName) {
  Guarded w(Shape{4, 8}, DType::kF32), x(Shape{2, 7}, DType::kF32), y(Shape{2, 4}, DType::kF32);
  Guarded good(Shape{2, 8}, DType::kF32), x64(Shape{2, 8}, DType::kF64);
  Guarded bias(Shape{5}, DType::kF32), gate(Shape{1, 4}, DType::kF32);
  Tensor f16(Shape{4, 8}, DType::kF16, Device{});
  randomize(w, 1);
  const Linear linear(w, {}, {});
  expect_refused([&] { linear.run(x, y, {}); }, "x has size 7 on axis 1, expected 8");
  expect_refused([&] { linear.run(x64, y, {}); }, "x has dtype f64");
  expect_refused([&] { Linear(w, bias, {}); }, "bias has size 5 on axis 0, expected 4");
  expect_refused([&] { Linear(f16, {}, {}); }, "not supported for f16 on cpu");
  EXPECT_FALSE(Linear::supports(Device{}, DType::kBF16));
  const StreamView cuda(Device{DeviceType::kCuda, 0}, nullptr);
  expect_refused([&] { linear.run(good, y, cuda); }, "stream is of cuda:0");
  LinearEpilogue epilogue;
  epilogue.gate = gate;
  epilogue.rows_per_image = 1;
  expect_refused([&] { linear.run(good, y, epilogue, {}); }, "gate has 1 images of 1 rows");
}

TEST(LinearTest, RefusesTf32OnTheCpu) {
  Guarded weight(Shape{2, 3}, DType::kF32);
  EXPECT_THROW(Linear(weight, {}, {}, true), InvalidArgument);
}

// Weights and rows that INT8 holds without loss (their largest value is 127 quarters).
TEST(LinearTest, Int8GivesExactProductsOfWhatItHolds) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded weight(Shape{2, 3}, dtype), bias(Shape{2}, dtype), x(Shape{2, 3}, dtype);
    Guarded y(Shape{2, 2}, dtype);
    set_all(weight, {127, 2, 3, -127, 0, 1});
    set_all(bias, {0.5, -0.5});
    set_all(x, {31.75, 1, -0.25, 0, 0, 0});
    const Linear linear = Linear::int8(weight, bias, {});
    linear.run(x, y, {});
    EXPECT_NEAR(y.at(0), 31.75 * 127 + 2 - 0.75 + 0.5, 1e-3);
    EXPECT_NEAR(y.at(1), -31.75 * 127 - 0.25 - 0.5, 1e-3);
    EXPECT_EQ(y.at(2), 0.5) << "a row of zeros leaves the bias";
    EXPECT_EQ(y.at(3), -0.5);
    EXPECT_LT(linear.packed_bytes(), 2 * 3 + 4 * 8 + 1);
  }
}

// Rounding each factor by at most half a level moves a product by about 1 / 127 of its terms' size.
TEST(LinearTest, Int8FollowsFullProductsAndIsNotThem) {
  const std::int64_t m = 37, n = 50, k = 96;
  Guarded weight(Shape{n, k}, DType::kF32), bias(Shape{n}, DType::kF32);
  Guarded x(Shape{m, k}, DType::kF32), full(Shape{m, n}, DType::kF32);
  Guarded y(Shape{m, n}, DType::kF32), again(Shape{m, n}, DType::kF32);
  Guarded residual(Shape{m, n}, DType::kF32);
  randomize(weight, 1, 1.0 / std::sqrt(static_cast<double>(k)));
  randomize(bias, 2);
  randomize(x, 3);
  randomize(residual, 4);
  LinearEpilogue epilogue;
  epilogue.activation = Activation::kGeluTanh;
  epilogue.residual = residual;
  Linear(weight, bias, {}).run(x, full, epilogue, {});
  const Linear linear = Linear::int8(weight, bias, {});
  linear.run(x, y, epilogue, {});
  double difference = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < m * n; ++i) {
    difference += std::pow(y.at(i) - full.at(i), 2);
    size += std::pow(full.at(i), 2);
  }
  const double error = std::sqrt(difference / size);
  EXPECT_LT(error, 0.02);
  EXPECT_GT(error, 1e-5);
  const int threads = cpu_threads();
  set_cpu_threads(3);
  linear.run(x, again, epilogue, {});
  set_cpu_threads(threads);
  for (std::int64_t i = 0; i < m * n; ++i) ASSERT_EQ(again.at(i), y.at(i));
}

TEST(LinearTest, Int8KeepsWhatIsNotFiniteInItsRow) {
  Guarded weight(Shape{2, 2}, DType::kF32), x(Shape{2, 2}, DType::kF32),
      y(Shape{2, 2}, DType::kF32);
  set_all(weight, {1, 2, 3, 4});
  set_all(x, {1, std::nan(""), 1, 1});
  Linear::int8(weight, {}, {}).run(x, y, {});
  EXPECT_TRUE(std::isnan(y.at(0)) && std::isnan(y.at(1)));
  EXPECT_NEAR(y.at(2), 3.0, 0.05);
  EXPECT_NEAR(y.at(3), 7.0, 0.05);
}

}  // namespace
}  // namespace ditar
