// What op tests share: seeded random tensors, guard bytes around outputs, comparison, and thread
// counts. Header-only; one test process, one thread.
#pragma once

#include "ditar/kernels/cpu_threads.h"
#include "ditar/kernels/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace ditar::testing {

/// A tensor between two guard zones; check() fails the test if either was written.
class Guarded {
 public:
  static constexpr std::size_t kGuard = 256;
  Guarded(Shape shape, DType dtype)
      : shape_(shape),
        dtype_(dtype),
        bytes_(static_cast<std::size_t>(shape.count()) * size_of(dtype)),
        buffer_(bytes_ + 2 * kGuard, Device{}) {
    std::memset(buffer_.data(), 0xa5, buffer_.size_bytes());
  }
  ~Guarded() { check(); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  TensorView view() {
    return TensorView(static_cast<char*>(buffer_.data()) + kGuard, shape_, dtype_, Device{});
  }
  operator TensorView() { return view(); }       // NOLINT
  operator ConstTensorView() { return view(); }  // NOLINT
  std::int64_t count() const { return shape_.count(); }
  const Shape& shape() const { return shape_; }
  double at(std::int64_t i) {
    return dtype_ == DType::kF32 ? view().as<float>()[i] : view().as<double>()[i];
  }
  void set(std::int64_t i, double value) {
    if (dtype_ == DType::kF32) {
      view().as<float>()[i] = static_cast<float>(value);
    } else {
      view().as<double>()[i] = value;
    }
  }
  void check() const {
    const auto* bytes = static_cast<const unsigned char*>(buffer_.data());
    for (std::size_t i = 0; i < kGuard; ++i) {
      ASSERT_EQ(bytes[i], 0xa5) << "written before the output, byte " << i;
      ASSERT_EQ(bytes[kGuard + bytes_ + i], 0xa5) << "written past the output, byte " << i;
    }
  }

 private:
  Shape shape_;
  DType dtype_;
  std::size_t bytes_;
  Buffer buffer_;
};

/// Fills with seeded normals that f32 holds exactly, so that f32 and f64 tensors get equal values.
inline void randomize(Guarded& tensor, unsigned seed, double deviation = 1.0) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(deviation));
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, normal(engine));
}

inline void set_all(Guarded& tensor, const std::vector<double>& values) {
  ASSERT_EQ(static_cast<std::int64_t>(values.size()), tensor.count());
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), values[i]);
}

/// Largest |a - b| over the largest |b|.
inline double error_of(Guarded& a, Guarded& b) {
  double worst = 0.0;
  double scale = 1e-30;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double difference = std::abs(a.at(i) - b.at(i));
    if (!(difference <= worst)) worst = difference;  // NaN shows
    scale = std::max(scale, std::abs(b.at(i)));
  }
  return worst / scale;
}

inline bool same_bits(const void* a, const void* b, std::size_t size_bytes) {
  return std::memcmp(a, b, size_bytes) == 0;
}

/// Sets the thread count for one scope.
class Threads {
 public:
  explicit Threads(int threads) : former_(cpu_threads()) { set_cpu_threads(threads); }
  ~Threads() { set_cpu_threads(former_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int former_;
};

/// Runs `call` and expects InvalidArgument whose message holds `text`.
template <typename Call>
void expect_refused(const Call& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected a refusal with \"" << text << "\"";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
}

}  // namespace ditar::testing
