// What CUDA op tests share: tensors between guard bytes on the device, NaN where nothing was
// written, and the same values in FP64 on the CPU for the reference. Header-only; one thread.
#pragma once

#include "ditar/kernels/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace ditar::testing {

inline constexpr Device kGpu{DeviceType::kCuda, 0};

/// Skips each test where there is no GPU; gives a stream.
class CudaTest : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device is visible to this process";
    stream_ = std::make_unique<Stream>(kGpu);
  }
  StreamView stream() const { return stream_->view(); }

 private:
  std::unique_ptr<Stream> stream_;
};

/// Error allowed for one op: rounding of the result and of what stands between, relative to the
/// largest value of the result.
inline double tolerance(DType dtype) {
  if (dtype == DType::kF16) return 2e-3;
  return dtype == DType::kBF16 ? 1.6e-2 : 4e-6;
}

/// Values on the CPU in FP64, rounded as `dtype` rounds them.
class HostValues {
 public:
  HostValues(Shape shape, DType dtype) : tensor_(shape, DType::kF64, Device{}), dtype_(dtype) {}
  /// Seeded normals.
  HostValues(Shape shape, DType dtype, unsigned seed, double deviation = 1.0)
      : HostValues(shape, dtype) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0.0, deviation);
    for (std::int64_t i = 0; i < shape.count(); ++i) tensor_.as<double>()[i] = normal(engine);
    Tensor narrow(shape, dtype, Device{});
    convert(tensor_, narrow, StreamView{});
    convert(narrow, tensor_, StreamView{});
  }
  TensorView view() { return tensor_.view(); }
  operator TensorView() { return view(); }       // NOLINT
  operator ConstTensorView() { return view(); }  // NOLINT
  double at(std::int64_t i) const { return tensor_.as<double>()[i]; }
  const Shape& shape() const { return tensor_.shape(); }
  DType dtype() const { return dtype_; }

 private:
  Tensor tensor_;
  DType dtype_;
};

/// A device tensor between guard zones; all bytes 0xff (NaN in every float format) until written.
class GpuTensor {
 public:
  static constexpr std::size_t kGuard = 512;
  GpuTensor(Shape shape, DType dtype, StreamView stream)
      : shape_(shape),
        dtype_(dtype),
        bytes_(static_cast<std::size_t>(shape.count()) * size_of(dtype)),
        buffer_(bytes_ + 2 * kGuard, kGpu),
        stream_(stream) {
    fill_bytes(buffer_.data(), kGpu, 0xff, buffer_.size_bytes(), stream);
  }
  GpuTensor(HostValues& values, StreamView stream)
      : GpuTensor(values.shape(), values.dtype(), stream) {
    Tensor narrow(shape_, dtype_, Device{});
    convert(values, narrow, StreamView{});
    copy(narrow, view(), stream);
    stream.synchronize();
  }
  ~GpuTensor() {
    std::vector<unsigned char> all(bytes_ + 2 * kGuard);
    copy_bytes(all.data(), Device{}, buffer_.data(), kGpu, all.size(), stream_);
    stream_.synchronize();
    for (std::size_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(all[i], 0xff) << "written before the tensor, byte " << i;
      EXPECT_EQ(all[kGuard + bytes_ + i], 0xff) << "written past the tensor, byte " << i;
    }
  }
  GpuTensor(const GpuTensor&) = delete;
  GpuTensor& operator=(const GpuTensor&) = delete;

  TensorView view() {
    return TensorView(static_cast<char*>(buffer_.data()) + kGuard, shape_, dtype_, kGpu);
  }
  operator TensorView() { return view(); }       // NOLINT
  operator ConstTensorView() { return view(); }  // NOLINT

  std::vector<unsigned char> bytes() {
    std::vector<unsigned char> all(bytes_);
    copy_bytes(all.data(), Device{}, view().data(), kGpu, bytes_, stream_);
    stream_.synchronize();
    return all;
  }
  std::vector<double> values() {
    const std::vector<unsigned char> raw = bytes();
    Tensor wide(shape_, DType::kF64, Device{});
    convert(ConstTensorView(raw.data(), shape_, dtype_, Device{}), wide, StreamView{});
    return {wide.as<double>(), wide.as<double>() + shape_.count()};
  }

 private:
  Shape shape_;
  DType dtype_;
  std::size_t bytes_;
  Buffer buffer_;
  StreamView stream_;
};

/// Largest |a - b| over the largest |b|; NaN if anything is NaN.
inline double error_of(GpuTensor& a, HostValues& b) {
  const std::vector<double> values = a.values();
  double worst = 0.0, scale = 1e-30;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = b.at(static_cast<std::int64_t>(i));
    const double difference = std::abs(values[i] - expected);
    if (!(difference <= worst)) worst = difference;
    scale = std::max(scale, std::abs(expected));
  }
  return worst / scale;
}

inline std::string dtype_name(const ::testing::TestParamInfo<DType>& info) {
  return std::string(to_string(info.param));
}

}  // namespace ditar::testing
