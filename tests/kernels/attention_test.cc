// Attention: hand values, FP32 against FP64, bits over batch, threads and q rows, ring merge.
#include "ditar/kernels/ops/attention.h"

#include "kernel_testing.h"

namespace ditar {
namespace {

using namespace ditar::testing;

Tensor workspace(DType dtype, std::int64_t s, std::int64_t kv, std::int64_t d) {
  const auto bytes = attention_workspace_bytes(Device{}, dtype, s, kv, d);
  return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::kU8, Device{});
}

void run_packed(Guarded& qkv, Guarded& out) {
  const TensorView view = qkv.view();
  Tensor scratch = workspace(view.dtype(), view.size(1), view.size(1), view.size(4));
  attention_packed(qkv, out, scratch, {});
}

TEST(AttentionTest, MatchesHandValues) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded q(Shape{1, 1, 1, 2}, dtype), k(Shape{1, 2, 1, 2}, dtype), v(Shape{1, 2, 1, 2}, dtype);
    Guarded out(Shape{1, 1, 1, 2}, dtype), lse(Shape{1, 1, 1}, dtype);
    set_all(q, {1, 2});
    set_all(k, {1, 0, 0, 1});  // scores 0.5 and 1
    set_all(v, {10, 20, 30, 40});
    Tensor scratch = workspace(dtype, 1, 2, 2);
    attention(q, k, v, 0.5, out, lse, scratch, {});
    const double p = std::exp(1.0) / (std::exp(0.5) + std::exp(1.0));
    EXPECT_NEAR(out.at(0), 10 + 20 * p, 1e-5);
    EXPECT_NEAR(out.at(1), 20 + 20 * p, 1e-5);
    EXPECT_NEAR(lse.at(0), std::log(std::exp(0.5) + std::exp(1.0)), 1e-6);
  }
}

TEST(AttentionTest, FollowsTheReferenceOverOddShapes) {
  for (const std::int64_t d : {1, 8, 32, 64, 72, 80}) {
    for (const std::int64_t t : {1, 2, 5, 6, 15, 16, 17, 33, 49, 64, 65}) {
      Guarded qkv32(Shape{2, t, 3, 3, d}, DType::kF32), qkv64(Shape{2, t, 3, 3, d}, DType::kF64);
      Guarded out32(Shape{2, t, 3 * d}, DType::kF32), out64(Shape{2, t, 3 * d}, DType::kF64);
      randomize(qkv32, 5, 2.0);
      randomize(qkv64, 5, 2.0);
      run_packed(qkv32, out32);
      run_packed(qkv64, out64);
      EXPECT_LE(error_of(out32, out64), 4e-6) << "T " << t << " D " << d;
    }
  }
}

TEST(AttentionTest, SurvivesScoresFarBeyondExp) {
  Guarded qkv(Shape{1, 9, 3, 1, 8}, DType::kF32), out(Shape{1, 9, 8}, DType::kF32);
  randomize(qkv, 6, 300.0);
  run_packed(qkv, out);
  for (std::int64_t i = 0; i < out.count(); ++i) EXPECT_TRUE(std::isfinite(out.at(i)));
}

TEST(AttentionTest, BitsDependOnNeitherBatchThreadsNorOtherRows) {
  constexpr std::int64_t kB = 3, kT = 49, kH = 3, kD = 72;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded qkv(Shape{kB, kT, 3, kH, kD}, dtype), whole(Shape{kB, kT, kH * kD}, dtype);
    randomize(qkv, 7);
    {
      Threads one(1);
      run_packed(qkv, whole);
    }
    for (const int threads : {1, 2, 4}) {
      Threads scope(threads);
      Guarded again(whole.shape(), dtype);
      run_packed(qkv, again);
      EXPECT_TRUE(same_bits(again.view().data(), whole.view().data(), again.view().size_bytes()));
      Guarded last(Shape{1, kT, kH * kD}, dtype);
      Tensor scratch = workspace(dtype, kT, kT, kD);
      attention_packed(qkv.view().slice(2, 3), last, scratch, {});
      EXPECT_TRUE(
          same_bits(last.view().data(), whole.view().slice(2, 3).data(), last.view().size_bytes()));
    }
  }
}

/// (1, rows, H, D) views of the packed tensor's part `index`.
ConstTensorView part(Guarded& qkv, std::int64_t index, std::int64_t begin, std::int64_t rows) {
  const TensorView view = qkv.view();
  const std::int64_t h = view.size(3), d = view.size(4);
  const auto offset = static_cast<std::size_t>((begin * 3 + index) * h * d) * size_of(view.dtype());
  return ConstTensorView(static_cast<char*>(view.data()) + offset, Shape{1, rows, h, d},
                         Strides{0, 3 * h * d, d, 1}, view.dtype(), Device{});
}

TEST(AttentionTest, ShardedQueriesGiveTheSameBits) {
  constexpr std::int64_t kT = 49, kH = 2, kD = 32;
  Guarded qkv(Shape{1, kT, 3, kH, kD}, DType::kF32), whole(Shape{1, kT, kH * kD}, DType::kF32);
  randomize(qkv, 8);
  run_packed(qkv, whole);
  for (const std::int64_t cut : {1, 7, 24, 48}) {
    Guarded tail(Shape{1, kT - cut, kH, kD}, DType::kF32);
    Tensor scratch = workspace(DType::kF32, kT - cut, kT, kD);
    attention(part(qkv, 0, cut, kT - cut), part(qkv, 1, 0, kT), part(qkv, 2, 0, kT),
              1.0 / std::sqrt(32.0), tail, {}, scratch, {});
    EXPECT_TRUE(same_bits(tail.view().data(),
                          whole.view().reshape({kT, kH * kD}).slice(cut, kT).data(),
                          tail.view().size_bytes()));
  }
}

TEST(AttentionTest, MergesPartsOfTheKeys) {
  constexpr std::int64_t kT = 37, kH = 2, kD = 40, kCut = 13;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded qkv(Shape{1, kT, 3, kH, kD}, dtype);
    Guarded whole(Shape{1, kT, kH, kD}, dtype), a(whole.shape(), dtype), b(whole.shape(), dtype);
    Guarded lse(Shape{1, kH, kT}, dtype), lse_a(lse.shape(), dtype), lse_b(lse.shape(), dtype);
    randomize(qkv, 9);
    Tensor scratch = workspace(dtype, kT, kT, kD);
    const auto run = [&](std::int64_t begin, std::int64_t rows, Guarded& out, Guarded& out_lse) {
      attention(part(qkv, 0, 0, kT), part(qkv, 1, begin, rows), part(qkv, 2, begin, rows), 0.2, out,
                out_lse, scratch, {});
    };
    run(0, kT, whole, lse);
    run(0, kCut, a, lse_a);
    run(kCut, kT - kCut, b, lse_b);
    attention_merge(b, lse_b, a, lse_a, {});
    const double tolerance = dtype == DType::kF32 ? 2e-6 : 1e-14;
    EXPECT_LE(error_of(a, whole), tolerance);
    EXPECT_LE(error_of(lse_a, lse), tolerance);
  }
}

TEST(AttentionTest, PropagatesNan) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Guarded qkv(Shape{1, 7, 3, 2, 8}, dtype), out(Shape{1, 7, 16}, dtype);
    randomize(qkv, 10);
    qkv.set((2 * 3 + 0) * 16 + 3, std::nan(""));  // q of token 2, head 0
    run_packed(qkv, out);
    for (int i = 0; i < 7 * 16; ++i) {
      EXPECT_EQ(std::isnan(out.at(i)), i / 16 == 2 && i % 16 < 8) << i;
    }
  }
}

TEST(AttentionTest, RefusesWrongOperandsByName) {
  Guarded q(Shape{1, 4, 2, 8}, DType::kF32), k(Shape{1, 4, 2, 9}, DType::kF32);
  Guarded v(Shape{1, 4, 2, 8}, DType::kF32), out(Shape{1, 4, 2, 8}, DType::kF32);
  Tensor scratch = workspace(DType::kF32, 4, 4, 8);
  Tensor tiny(Shape{8}, DType::kU8, Device{});
  expect_refused([&] { attention(q, k, v, 1.0, out, {}, scratch, {}); },
                 "k has size 9 on axis 3, expected 8");
  expect_refused([&] { attention(q, v, v, 1.0, out, {}, tiny, {}); }, "workspace is smaller");
  expect_refused([&] { attention(q, v, v, 0.0, out, {}, scratch, {}); }, "scale");
  EXPECT_FALSE(supports_attention(Device{}, DType::kF16, 64));
}

}  // namespace
}  // namespace ditar
