// Devices, dtypes, shapes, buffers, views, streams and events on the CPU.
#include "ditar/kernels/cpu_threads.h"
#include "ditar/kernels/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace ditar {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Buffer> &&
              !std::is_copy_constructible_v<Buffer>);
static_assert(std::is_nothrow_move_constructible_v<Stream> &&
              !std::is_copy_constructible_v<Stream>);
static_assert(std::is_nothrow_move_constructible_v<Event> && !std::is_copy_constructible_v<Event>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);

TEST(DeviceTest, ParsesNamesAndRefusesOthers) {
  EXPECT_EQ(parse_device("cpu"), Device{});
  EXPECT_EQ(parse_device("cuda"), (Device{DeviceType::kCuda, 0}));
  EXPECT_EQ(to_string(parse_device("cuda:3")), "cuda:3");
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "CPU"}) {
    EXPECT_THROW(parse_device(text), InvalidArgument) << text;
  }
}

TEST(DeviceTest, RefusesMemoryOfAnAbsentCudaDevice) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "this machine has a CUDA device";
  EXPECT_THROW(Tensor(Shape{1}, DType::kF32, Device{DeviceType::kCuda, 0}), Error);
  EXPECT_THROW(Stream(Device{DeviceType::kCuda, 0}), Error);
}

TEST(DTypeTest, RoundTripsEveryHalfAndBFloat16) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const BFloat16 brain{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_float(half))) {
      EXPECT_EQ(to_half(to_float(half)).bits, bits);
    } else {
      EXPECT_TRUE(std::isnan(to_float(to_half(to_float(half)))));
    }
    if (!std::isnan(to_float(brain))) {
      EXPECT_EQ(to_bfloat16(to_float(brain)).bits, bits);
    } else {
      EXPECT_TRUE(std::isnan(to_float(to_bfloat16(to_float(brain)))));
    }
  }
}

TEST(DTypeTest, RoundsToNearestEven) {
  EXPECT_EQ(to_half(1.0F + 0x1p-11F).bits, 0x3c00);    // tie: down to even
  EXPECT_EQ(to_half(1.0F + 0x1.8p-10F).bits, 0x3c02);  // tie: up to even
  EXPECT_EQ(to_half(65519.0F).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-25F).bits, 0);
  EXPECT_EQ(to_half(0x1.1p-25F).bits, 1);
  EXPECT_EQ(to_half(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_bfloat16(1.0F + 0x1p-8F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.0F + 0x1.8p-7F).bits, 0x3f82);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(ShapeTest, CountsAndRefuses) {
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ((Shape{2, 3})[-1], 3);
  EXPECT_EQ(to_string(Shape{2, 49}), "(2, 49)");
  EXPECT_THROW((Shape{1, -1}), InvalidArgument);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), InvalidArgument);
  const Shape shape{2};
  EXPECT_THROW(shape[1], InvalidArgument);
  EXPECT_THROW(shape[-2], InvalidArgument);
}

TEST(BufferTest, IsAlignedAndMoves) {
  Buffer first(100, Device{});
  EXPECT_EQ(std::bit_cast<std::uintptr_t>(first.data()) % 256, 0U);
  void* data = first.data();
  Buffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(Buffer(0, Device{}).data(), nullptr);
  EXPECT_THROW(Buffer(std::numeric_limits<std::size_t>::max() - 5, Device{}), OutOfMemory);
}

TEST(TensorViewTest, SlicesReshapesAndKeepsStrides) {
  Tensor tensor(Shape{4, 3}, DType::kF32, Device{});
  for (int i = 0; i < 12; ++i) tensor.as<float>()[i] = static_cast<float>(i);
  EXPECT_EQ(tensor.view().slice(1, 3).as<float>()[0], 3.0F);
  EXPECT_EQ(tensor.view().slice(1, 3).shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.view().reshape({2, 6}).size(1), 6);
  EXPECT_THROW(tensor.view().slice(2, 5), InvalidArgument);
  EXPECT_THROW(tensor.view().reshape({5}), InvalidArgument);
  EXPECT_THROW(tensor.view().as<double>(), InvalidArgument);
  const TensorView column(tensor.view().data(), Shape{4, 1}, Strides{3, 1}, DType::kF32, Device{});
  const ConstTensorView constant = column;
  EXPECT_EQ(constant.stride(0), 3);
  EXPECT_FALSE(constant.is_dense());
  EXPECT_THROW(constant.reshape({4}), InvalidArgument);
}

TEST(TensorTest, ConvertsBetweenFloatingDtypes) {
  Tensor f32(Shape{3}, DType::kF32, Device{});
  Tensor f16(Shape{3}, DType::kF16, Device{});
  Tensor f64(Shape{3}, DType::kF64, Device{});
  Tensor i32(Shape{3}, DType::kI32, Device{});
  f32.as<float>()[0] = 1.5F;
  f32.as<float>()[1] = -2.25F;
  f32.as<float>()[2] = std::numeric_limits<float>::infinity();
  convert(f32, f16, {});
  convert(f16, f64, {});
  EXPECT_EQ(f64.as<double>()[1], -2.25);
  EXPECT_TRUE(std::isinf(f64.as<double>()[2]));
  EXPECT_THROW(convert(f32, i32, {}), InvalidArgument);
  EXPECT_THROW(copy(f32, f16, {}), InvalidArgument);
}

TEST(EventTest, MeasuresHostTime) {
  Event start(Device{}, true);
  Event stop(Device{}, true);
  EXPECT_THROW(stop.elapsed_ms_since(start), InvalidArgument);
  start.record({});
  stop.record({});
  EXPECT_GE(stop.elapsed_ms_since(start), 0.0F);
}

TEST(CpuThreadsTest, RefusesZero) {
  EXPECT_THROW(set_cpu_threads(0), InvalidArgument);
  EXPECT_GE(cpu_threads(), 1);
}

}  // namespace
}  // namespace ditar
