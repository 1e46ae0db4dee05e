// Attention on CUDA against the FP64 op of the CPU: every length modulo the tile, head sizes,
// batches, strides, sums for merging, equal bits on repeats.
#include "cuda_testing.h"
#include "ditar/kernels/ops/attention.h"

namespace ditar {
namespace {

using namespace ditar::testing;

using CudaAttentionTest = CudaTest;

Tensor workspace_for(std::int64_t s, std::int64_t kv, std::int64_t d) {
  const auto bytes = attention_workspace_bytes(Device{}, DType::kF64, s, kv, d);
  return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::kU8, Device{});
}

void expect_packed(DType dtype, std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d,
                   StreamView stream) {
  HostValues qkv(Shape{b, t, 3, h, d}, dtype, static_cast<unsigned>(t * 131 + d));
  HostValues expected(Shape{b, t, h * d}, dtype);
  Tensor scratch = workspace_for(t, t, d);
  attention_packed(qkv, expected, scratch, {});
  GpuTensor packed(qkv, stream), out(expected.shape(), dtype, stream);
  attention_packed(packed, out, {}, stream);
  EXPECT_LE(error_of(out, expected), tolerance(dtype))
      << "B " << b << " T " << t << " H " << h << " D " << d;
}

TEST_P(CudaAttentionTest, FollowsTheReferenceAtEveryLength) {
  for (std::int64_t t = 1; t <= 130; ++t) expect_packed(GetParam(), 1 + t % 3, t, 2, 72, stream());
}

TEST_P(CudaAttentionTest, FollowsTheReferenceAtEveryHeadSize) {
  for (const std::int64_t d : {8, 17, 32, 40, 64, 72, 80, 96, 128, 160, 256}) {
    for (const std::int64_t t : {1, 31, 64, 65, 100, 196}) {
      expect_packed(GetParam(), 2, t, 3, d, stream());
    }
  }
}

// 128-row tiles are taken once there are enough of them.
TEST_P(CudaAttentionTest, FollowsTheReferenceInLargeBatches) {
  for (const std::int64_t d : {32, 64, 72, 80, 96, 128}) {
    expect_packed(GetParam(), 5, 129, 64, d, stream());
  }
}

TEST_P(CudaAttentionTest, TakesOtherLengthsOfKeysAndGivesTheirSums) {
  const DType dtype = GetParam();
  for (const std::int64_t d : {40, 64, 72}) {
    for (const auto& [s, kv] : {std::pair{1, 200}, {70, 3}, {129, 66}}) {
      HostValues q(Shape{2, s, 3, d}, dtype, 1), k(Shape{2, kv, 3, d}, dtype, 2);
      HostValues v(k.shape(), dtype, 3), expected(q.shape(), dtype);
      HostValues sums(Shape{2, 3, s}, DType::kF32);
      Tensor scratch = workspace_for(s, kv, d);
      attention(q, k, v, 0.2, expected, sums, scratch, {});
      GpuTensor gq(q, stream()), gk(k, stream()), gv(v, stream());
      GpuTensor out(q.shape(), dtype, stream()), lse(sums.shape(), DType::kF32, stream());
      attention(gq, gk, gv, 0.2, out, lse, {}, stream());
      EXPECT_LE(error_of(out, expected), tolerance(dtype)) << "D " << d << " S " << s;
      EXPECT_LE(error_of(lse, sums), 1e-5) << "D " << d << " S " << s;
    }
  }
}

TEST_P(CudaAttentionTest, MergesPartsIntoTheWhole) {
  const DType dtype = GetParam();
  HostValues q(Shape{2, 33, 2, 72}, dtype, 4), k(Shape{2, 80, 2, 72}, dtype, 5);
  HostValues v(k.shape(), dtype, 6), expected(q.shape(), dtype);
  Tensor scratch = workspace_for(33, 80, 72);
  attention(q, k, v, 0.118, expected, {}, scratch, {});
  GpuTensor gq(q, stream()), gk(k, stream()), gv(v, stream());
  GpuTensor out(q.shape(), dtype, stream()), part(q.shape(), dtype, stream());
  GpuTensor lse(Shape{2, 2, 33}, DType::kF32, stream());
  GpuTensor part_lse(Shape{2, 2, 33}, DType::kF32, stream());
  const auto rows = [](GpuTensor& t, std::int64_t first, std::int64_t count) {
    const ConstTensorView all = t.view();
    const auto offset = static_cast<std::size_t>(first * all.stride(1)) * size_of(all.dtype());
    return ConstTensorView(static_cast<const char*>(all.data()) + offset,
                           Shape{all.size(0), count, all.size(2), all.size(3)},
                           Strides{all.stride(0), all.stride(1), all.stride(2), 1}, all.dtype(),
                           all.device());
  };
  attention(gq, rows(gk, 0, 47), rows(gv, 0, 47), 0.118, out, lse, {}, stream());
  attention(gq, rows(gk, 47, 33), rows(gv, 47, 33), 0.118, part, part_lse, {}, stream());
  attention_merge(part, part_lse, out, lse, stream());
  EXPECT_LE(error_of(out, expected), 2 * tolerance(dtype));
}

TEST_P(CudaAttentionTest, SurvivesScoresFarBeyondExp) {
  HostValues qkv(Shape{1, 70, 3, 1, 72}, GetParam(), 6, 60.0);
  GpuTensor packed(qkv, stream()), out(Shape{1, 70, 72}, GetParam(), stream());
  attention_packed(packed, out, {}, stream());
  for (const double value : out.values()) ASSERT_TRUE(std::isfinite(value));
}

TEST_P(CudaAttentionTest, GivesEqualBitsInAHundredRepeats) {
  HostValues qkv(Shape{3, 200, 3, 4, 72}, GetParam(), 7);
  GpuTensor packed(qkv, stream()), first(Shape{3, 200, 288}, GetParam(), stream());
  attention_packed(packed, first, {}, stream());
  const auto expected = first.bytes();
  for (int repeat = 0; repeat < 100; ++repeat) {
    GpuTensor again(Shape{3, 200, 288}, GetParam(), stream());
    attention_packed(packed, again, {}, stream());
    ASSERT_EQ(again.bytes(), expected) << "repeat " << repeat;
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaAttentionTest,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kBF16), dtype_name);

}  // namespace
}  // namespace ditar
