// Where the fields of a frame's header lie, and how they are read and written. Private to
// config/src/wire. Stateless.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/config/wire_frame.h"

#include <bit>
#include <cstring>

namespace ditar {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

inline constexpr std::string_view kFrameMagic = "DITA";
inline constexpr std::size_t kAtVersion = 4;
inline constexpr std::size_t kAtType = 6;
inline constexpr std::size_t kAtAttempt = 8;
inline constexpr std::size_t kAtSeq = 24;
inline constexpr std::size_t kAtPayload = 32;
inline constexpr std::size_t kAtMeta = 36;
inline constexpr std::size_t kAtBulk = 40;
inline constexpr std::size_t kAtOffset = 48;
inline constexpr std::size_t kAtCrc = 56;

template <typename T>
void put(std::span<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}
template <typename T>
T get(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Of everything but the CRC's own four bytes.
inline std::uint32_t frame_crc(std::span<const std::byte> bytes) {
  return crc32c(bytes.subspan(kFrameHeaderBytes), crc32c(bytes.first(kAtCrc)));
}

}  // namespace ditar
