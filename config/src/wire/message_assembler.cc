#include "frame_layout.h"

#include <utility>

namespace ditar {

namespace {

struct Header {
  MessageType type;
  std::uint64_t seq;
  std::size_t meta_bytes;
  std::uint64_t bulk_bytes;
  std::uint64_t offset;
};

void check_frame(std::span<const std::byte> frame) {
  if (frame.size() < kFrameHeaderBytes || frame.size() > kMaxFrameBytes) {
    throw FrameError(FrameFault::kLength, "a frame of " + std::to_string(frame.size()) +
                                              " bytes is not between " +
                                              std::to_string(kFrameHeaderBytes) + " and " +
                                              std::to_string(kMaxFrameBytes));
  }
  if (std::memcmp(frame.data(), kFrameMagic.data(), kFrameMagic.size()) != 0) {
    throw FrameError(FrameFault::kMagic, "a frame does not begin with DITA: not this protocol");
  }
  const auto version = get<std::uint16_t>(frame, kAtVersion);
  if (version != kProtocolVersion) {
    throw FrameError(FrameFault::kVersion, "the peer speaks protocol version " +
                                               std::to_string(version) + ", this side only " +
                                               std::to_string(kProtocolVersion) +
                                               "; build both programs from one commit");
  }
  if (get<std::uint32_t>(frame, kAtPayload) != frame.size() - kFrameHeaderBytes) {
    throw FrameError(FrameFault::kLength, "a frame is not as long as its header says");
  }
  if (get<std::uint32_t>(frame, kAtCrc) != frame_crc(frame)) {
    throw FrameError(FrameFault::kChecksum, "a frame's CRC-32C does not match: damaged on the way");
  }
}

Header read_header(std::span<const std::byte> frame, const AttemptId& attempt) {
  if (std::memcmp(frame.data() + kAtAttempt, attempt.bytes.data(), attempt.bytes.size()) != 0) {
    throw FrameError(FrameFault::kAttempt,
                     "a frame belongs to another attempt than " + attempt.hex());
  }
  const auto type = get<std::uint16_t>(frame, kAtType);
  if (type == 0 || type > kLastMessageType) {
    throw FrameError(FrameFault::kType, "unknown message type " + std::to_string(type));
  }
  Header header{static_cast<MessageType>(type), get<std::uint64_t>(frame, kAtSeq),
                get<std::uint32_t>(frame, kAtMeta), get<std::uint64_t>(frame, kAtBulk),
                get<std::uint64_t>(frame, kAtOffset)};
  const std::size_t payload = frame.size() - kFrameHeaderBytes;
  if (header.meta_bytes > payload || header.bulk_bytes > kMaxBulkBytes ||
      header.bulk_bytes % sizeof(float) != 0 || header.offset > header.bulk_bytes ||
      payload - header.meta_bytes > header.bulk_bytes - header.offset ||
      (header.offset != 0 && header.meta_bytes != 0)) {
    throw FrameError(FrameFault::kBulk, "a frame's counts cannot be: payload " +
                                            std::to_string(payload) + ", text " +
                                            std::to_string(header.meta_bytes) + ", bulk " +
                                            std::to_string(header.bulk_bytes) + " from offset " +
                                            std::to_string(header.offset));
  }
  return header;
}

}  // namespace

std::optional<InMessage> MessageAssembler::feed(std::span<const std::byte> frame) {
  try {
    return accept(frame);
  } catch (...) {
    open_ = false;
    pending_ = {};
    throw;
  }
}

std::optional<InMessage> MessageAssembler::accept(std::span<const std::byte> frame) {
  check_frame(frame);
  const Header header = read_header(frame, attempt_);
  const auto payload = frame.subspan(kFrameHeaderBytes);
  const auto part = payload.subspan(header.meta_bytes);
  if (!open_) {
    if (header.offset != 0) {
      throw FrameError(FrameFault::kBulk, "a message begins in the middle: its first part is lost");
    }
    pending_.type = header.type;
    pending_.seq = header.seq;
    pending_.meta.assign(reinterpret_cast<const char*>(payload.data()), header.meta_bytes);
    pending_.bulk.clear();
    pending_.bulk.reserve(header.bulk_bytes / sizeof(float));
    bulk_bytes_ = header.bulk_bytes;
    filled_ = 0;
    open_ = true;
  } else if (header.type != pending_.type || header.seq != pending_.seq ||
             header.bulk_bytes != bulk_bytes_ || header.offset != filled_ || part.empty()) {
    throw FrameError(FrameFault::kBulk, "parts of a message come out of order: expected offset " +
                                            std::to_string(filled_) + ", got " +
                                            std::to_string(header.offset));
  }
  if (part.size() % sizeof(float) != 0) {
    throw FrameError(FrameFault::kBulk, "a part of a message ends inside a number");
  }
  const std::size_t at = pending_.bulk.size();
  pending_.bulk.resize(at + part.size() / sizeof(float));
  if (!part.empty()) std::memcpy(pending_.bulk.data() + at, part.data(), part.size());
  filled_ += part.size();
  if (filled_ < bulk_bytes_) return std::nullopt;
  open_ = false;
  return std::exchange(pending_, {});
}

}  // namespace ditar
