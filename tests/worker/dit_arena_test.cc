// Arena: slots do not overlap, are aligned, and survive a smaller plan after a larger one.
#include "arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace ditar {
namespace {

TEST(ArenaTest, SlotsAreAlignedAndApart) {
  Arena arena(Device{});
  const std::size_t a = arena.add({3, 5}, DType::kF64);
  const std::size_t none = arena.add({0, 7}, DType::kF32);
  const std::size_t b = arena.add({4}, DType::kF32);
  arena.allocate();
  EXPECT_EQ(arena.planned_bytes(), 512);
  const TensorView first = arena.view(a);
  const TensorView second = arena.view(b);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % 256, 0U);
  EXPECT_GE(static_cast<char*>(second.data()) - static_cast<char*>(first.data()), 15 * 8);
  EXPECT_EQ(arena.view(none).count(), 0);
  std::fill_n(first.as<double>(), 15, 1.0);
  std::fill_n(second.as<float>(), 4, 2.0F);
  EXPECT_EQ(first.as<double>()[14], 1.0);
}

TEST(ArenaTest, KeepsItsMemoryForASmallerPlan) {
  Arena arena(Device{});
  arena.add({1000}, DType::kF32);
  arena.allocate();
  arena.clear();
  const std::size_t slot = arena.add({10}, DType::kF32);
  arena.allocate();
  EXPECT_EQ(arena.planned_bytes(), 256);
  EXPECT_EQ(arena.held_bytes(), 4096);
  EXPECT_EQ(arena.view(slot).count(), 10);
}

TEST(ArenaTest, RefusesAViewBeforeTheMemoryIsThere) {
  Arena arena(Device{});
  const std::size_t slot = arena.add({10}, DType::kF32);
  EXPECT_THROW(arena.view(slot), InvalidArgument);
}

}  // namespace
}  // namespace ditar
