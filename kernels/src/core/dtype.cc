#include "ditar/kernels/dtype.h"

#include <bit>

namespace ditar {

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI8:
    case DType::kU8:
      return 1;
  }
  return 0;
}

std::string_view to_string(DType dtype) noexcept {
  constexpr std::string_view kNames[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"};
  const auto at = static_cast<std::size_t>(dtype);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {  // NaN: keep the sign, stay quiet
    return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  }
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

float to_float(Half value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = value.bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  }
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal: exact in f32
  return sign != 0 ? -magnitude : magnitude;
}

Half to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U | ((magnitude >> 13) & 0x1ffU);
  } else if (magnitude >= 0x47800000U) {  // 65536 and above, and infinity
    half = 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // normal in f16: rebias, round; may carry to infinity
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    half = (rounded - 0x38000000U) >> 13;
  } else {  // subnormal: adding 0.5 aligns the f16 unit to the last bit of f32, rounding to even
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(aligned) - 0x3f000000U;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace ditar
