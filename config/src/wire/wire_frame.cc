#include "ditar/config/wire_frame.h"

#include "frame_layout.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace ditar {

std::string_view to_string(MessageType type) noexcept {
  static constexpr std::string_view kNames[] = {"hello",  "accept", "refuse", "load",     "loaded",
                                                "run",    "result", "ack",    "progress", "ping",
                                                "resend", "stop",   "bye",    "failure"};
  static_assert(std::size(kNames) == kLastMessageType);
  const auto index = static_cast<std::size_t>(type);
  return index >= 1 && index <= kLastMessageType ? kNames[index - 1] : "unknown";
}

std::string_view to_string(FrameFault fault) noexcept {
  static constexpr std::string_view kNames[] = {"length", "magic", "version", "checksum",
                                                "type",   "bulk",  "attempt", "meta"};
  return kNames[static_cast<std::size_t>(fault)];
}

Frame::Frame(std::size_t size_bytes) : owner_(nullptr, [](void* p) { ::operator delete(p); }) {
  owner_.reset(::operator new(size_bytes));
  bytes_ = {static_cast<std::byte*>(owner_.get()), size_bytes};
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
  crc = ~crc;
  while (!bytes.empty()) {
    const auto part = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
    // isa-l reads only, but its parameter is not const.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(part), crc);
    bytes = bytes.subspan(part);
  }
  return ~crc;
}

namespace {

Frame make_frame(const AttemptId& attempt, const OutMessage& message, std::string_view meta,
                 std::size_t bulk_offset, std::size_t bulk_part) {
  Frame frame(kFrameHeaderBytes + meta.size() + bulk_part);
  const auto bytes = frame.bytes();
  std::memcpy(bytes.data(), kFrameMagic.data(), kFrameMagic.size());
  put<std::uint16_t>(bytes, kAtVersion, kProtocolVersion);
  put<std::uint16_t>(bytes, kAtType, static_cast<std::uint16_t>(message.type));
  std::memcpy(bytes.data() + kAtAttempt, attempt.bytes.data(), attempt.bytes.size());
  put<std::uint64_t>(bytes, kAtSeq, message.seq);
  put<std::uint32_t>(bytes, kAtPayload, static_cast<std::uint32_t>(meta.size() + bulk_part));
  put<std::uint32_t>(bytes, kAtMeta, static_cast<std::uint32_t>(meta.size()));
  put<std::uint64_t>(bytes, kAtBulk, message.bulk.size_bytes());
  put<std::uint64_t>(bytes, kAtOffset, bulk_offset);
  auto* payload = bytes.data() + kFrameHeaderBytes;
  if (!meta.empty()) std::memcpy(payload, meta.data(), meta.size());
  if (bulk_part != 0) {
    const auto bulk = std::as_bytes(message.bulk);
    std::memcpy(payload + meta.size(), bulk.data() + bulk_offset, bulk_part);
  }
  put<std::uint32_t>(bytes, kAtCrc, frame_crc(bytes));
  return frame;
}

}  // namespace

std::vector<Frame> encode_frames(const AttemptId& attempt, const OutMessage& message) {
  const std::size_t total = message.bulk.size_bytes();
  require(total <= kMaxBulkBytes, "a message carries at most " + std::to_string(kMaxBulkBytes) +
                                      " bytes of latents, this one has " + std::to_string(total));
  require(message.meta.size() <= kMaxFrameBytes - kFrameHeaderBytes,
          "the text of a message does not fit one frame: " + std::to_string(message.meta.size()) +
              " bytes");
  std::vector<Frame> frames;
  std::size_t offset = 0;
  std::string_view meta = message.meta;
  do {
    const std::size_t room = (kMaxFrameBytes - kFrameHeaderBytes - meta.size()) / 4 * 4;
    const std::size_t part = std::min(room, total - offset);
    frames.push_back(make_frame(attempt, message, meta, offset, part));
    offset += part;
    meta = {};
  } while (offset < total);
  return frames;
}

}  // namespace ditar
