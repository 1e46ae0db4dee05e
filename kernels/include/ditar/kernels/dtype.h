// Element kinds of tensors and the tolerance that belongs to each. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ditar {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI8, kU8 };

std::size_t size_of(DType dtype) noexcept;
/// "f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8".
std::string_view to_string(DType dtype) noexcept;

/// Bit patterns of the 16-bit formats. Conversions round to nearest even and keep NaN and infinity.
struct Half {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};
float to_float(Half value) noexcept;
float to_float(BFloat16 value) noexcept;
Half to_half(float value) noexcept;
BFloat16 to_bfloat16(float value) noexcept;

/// Maps a C++ type to its DType: dtype_of<float> == DType::kF32.
template <typename T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType for this type");
  return DType::kF32;
}();
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<Half> = DType::kF16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::kU8;

}  // namespace ditar
