#include "ditar/parallel/reduce.h"

#include "ditar/config/error.h"

namespace ditar {

namespace {

template <typename T>
void sum_plain(std::span<const void* const> parts, void* out, std::int64_t count) {
  auto* target = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    T sum = static_cast<const T*>(parts[0])[i];
    for (std::size_t p = 1; p < parts.size(); ++p) {
      sum = static_cast<T>(sum + static_cast<const T*>(parts[p])[i]);
    }
    target[i] = sum;
  }
}

template <typename T, T (*Round)(float)>
void sum_rounded(std::span<const void* const> parts, void* out, std::int64_t count) {
  auto* target = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = to_float(static_cast<const T*>(parts[0])[i]);
    for (std::size_t p = 1; p < parts.size(); ++p) {
      sum += to_float(static_cast<const T*>(parts[p])[i]);
    }
    target[i] = Round(sum);
  }
}

Half round_half(float value) { return to_half(value); }
BFloat16 round_bfloat16(float value) { return to_bfloat16(value); }

}  // namespace

void sum_in_order(std::span<const void* const> parts, void* out, std::int64_t count, DType dtype) {
  require(!parts.empty(), "a sum needs at least one part");
  switch (dtype) {
    case DType::kF64:
      return sum_plain<double>(parts, out, count);
    case DType::kF32:
      return sum_plain<float>(parts, out, count);
    case DType::kI64:
      return sum_plain<std::int64_t>(parts, out, count);
    case DType::kI32:
      return sum_plain<std::int32_t>(parts, out, count);
    case DType::kF16:
      return sum_rounded<Half, round_half>(parts, out, count);
    case DType::kBF16:
      return sum_rounded<BFloat16, round_bfloat16>(parts, out, count);
    case DType::kI8:
    case DType::kU8:
      break;
  }
  throw InvalidArgument("ranks cannot sum 8-bit integers: the sum would wrap; use i32");
}

}  // namespace ditar
