#include "ditar/kernels/ops/rearrange.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ditar {
namespace {

template <typename T>
class RearrangeTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RearrangeTest, Types);

// Heads 1 and 2 of (2, 3, 4 heads, 5) become a dense block, and go back to their place.
TYPED_TEST(RearrangeTest, PacksASliceAndUnpacksIt) {
  std::vector<TypeParam> whole(2 * 3 * 4 * 5);
  std::iota(whole.begin(), whole.end(), TypeParam{1});
  const DType dtype = dtype_of<TypeParam>;
  const Shape part{2, 3, 2, 5};
  const Strides strides{60, 20, 5, 1};
  std::vector<TypeParam> packed(2 * 3 * 2 * 5, TypeParam{-1});
  rearrange(ConstTensorView(whole.data() + 5, part, strides, dtype, Device{}),
            TensorView(packed.data(), part, dtype, Device{}), {});
  std::size_t at = 0;
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t i = 5; i < 15; ++i) EXPECT_EQ(packed[at++], whole[row * 20 + i]);
  }
  std::vector<TypeParam> back(whole.size(), TypeParam{0});
  rearrange(ConstTensorView(packed.data(), part, dtype, Device{}),
            TensorView(back.data() + 5, part, strides, dtype, Device{}), {});
  for (std::size_t i = 0; i < back.size(); ++i) {
    const bool inside = i % 20 >= 5 && i % 20 < 15;
    EXPECT_EQ(back[i], inside ? whole[i] : TypeParam{0}) << i;
  }
}

TEST(RearrangeRefusalTest, NamesTheOperandAtFault) {
  std::vector<float> values(64, 0.0F);
  const auto message = [&](ConstTensorView from, TensorView to) -> std::string {
    try {
      rearrange(from, to, {});
    } catch (const InvalidArgument& error) {
      return error.message();
    }
    return "accepted";
  };
  const auto view = [&](Shape shape) {
    return TensorView(values.data(), shape, DType::kF32, Device{});
  };
  EXPECT_EQ(message(view({2, 3}), view({2, 4})), "rearrange: to has size 4 on axis 1, expected 3");
  EXPECT_EQ(message(view({1, 1, 1, 2, 3}), view({1, 1, 1, 2, 3})),
            "rearrange: from has 5 axes, expected 1 to 4");
  EXPECT_EQ(message(TensorView(values.data(), {2, 3}, Strides{1, 2}, DType::kF32, Device{}),
                    view({2, 3})),
            "rearrange: from must have stride 1 on its last axis");
}

}  // namespace
}  // namespace ditar
