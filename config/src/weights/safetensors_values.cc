#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ditar {
namespace {

template <typename T>
T load(const std::byte* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

float half_to_float(std::uint16_t bits) {
  const bool negative = (bits & 0x8000u) != 0;
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  if (exponent == 31) {  // infinity and NaN keep sign and payload
    return std::bit_cast<float>((negative ? 0xff800000u : 0x7f800000u) |
                                (static_cast<std::uint32_t>(mantissa) << 13));
  }
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return negative ? -magnitude : magnitude;
}

template <typename Out>
Out narrow(double value, const SafetensorsEntry& entry) {
  const auto out = static_cast<Out>(value);
  if (std::isfinite(value) && !std::isfinite(out)) {
    throw DataError("tensor \"" + entry.name +
                    "\" holds a value too large for FP32; run it in fp64 or rescale the weights");
  }
  return out;
}

template <typename Out>
void convert_all(const SafetensorsEntry& entry, std::span<Out> out) {
  require(out.size() == static_cast<std::size_t>(entry.count()),
          "read_floats: the destination has another number of elements than the tensor");
  const std::byte* bytes = entry.bytes.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (entry.type) {
      case StoredType::kF64:
        out[i] = narrow<Out>(load<double>(bytes, i), entry);
        break;
      case StoredType::kF32:
        out[i] = static_cast<Out>(load<float>(bytes, i));
        break;
      case StoredType::kF16:
        out[i] = static_cast<Out>(half_to_float(load<std::uint16_t>(bytes, i)));
        break;
      case StoredType::kBF16:
        out[i] = static_cast<Out>(
            std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes, i)) << 16));
        break;
      default:
        throw DataError("tensor \"" + entry.name + "\" has the dtype " +
                        std::string(to_string(entry.type)) + " where a floating one is needed");
    }
  }
}

}  // namespace

std::string_view to_string(StoredType type) noexcept {
  static constexpr std::string_view kNames[] = {"F64", "F32", "F16", "BF16", "I64",
                                                "I32", "I16", "I8",  "U8",   "BOOL"};
  return kNames[static_cast<std::size_t>(type)];
}

std::size_t size_of(StoredType type) noexcept {
  static constexpr std::size_t kSizes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return kSizes[static_cast<std::size_t>(type)];
}

std::int64_t SafetensorsEntry::count() const noexcept {
  std::int64_t total = 1;
  for (const std::int64_t size : shape) total *= size;
  return total;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

void read_floats(const SafetensorsEntry& entry, std::span<float> out) { convert_all(entry, out); }
void read_floats(const SafetensorsEntry& entry, std::span<double> out) { convert_all(entry, out); }

std::vector<float> read_f32(const SafetensorsEntry& entry) {
  std::vector<float> out(static_cast<std::size_t>(entry.count()));
  read_floats(entry, std::span<float>(out));
  return out;
}

std::vector<double> read_f64(const SafetensorsEntry& entry) {
  std::vector<double> out(static_cast<std::size_t>(entry.count()));
  read_floats(entry, std::span<double>(out));
  return out;
}

std::vector<std::int64_t> read_i64(const SafetensorsEntry& entry) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(entry.count()));
  const std::byte* bytes = entry.bytes.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (entry.type) {
      case StoredType::kI64:
        out[i] = load<std::int64_t>(bytes, i);
        break;
      case StoredType::kI32:
        out[i] = load<std::int32_t>(bytes, i);
        break;
      case StoredType::kI16:
        out[i] = load<std::int16_t>(bytes, i);
        break;
      case StoredType::kI8:
        out[i] = load<std::int8_t>(bytes, i);
        break;
      case StoredType::kU8:
        out[i] = load<std::uint8_t>(bytes, i);
        break;
      default:
        throw DataError("tensor \"" + entry.name + "\" has the dtype " +
                        std::string(to_string(entry.type)) + " where an integer one is needed");
    }
  }
  return out;
}

}  // namespace ditar
