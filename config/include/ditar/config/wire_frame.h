// Frames on the wire: 60 bytes of header (little-endian), then a JSON text, then raw FP32 bytes.
//
//   0 magic "DITA" | 4 u16 version | 6 u16 type | 8 attempt (16) | 24 u64 seq | 32 u32 payload
//   bytes 36 u32 meta bytes | 40 u64 bulk bytes of the whole message | 48 u64 bulk offset | 56 u32
//   CRC-32C
//
// payload = meta (JSON, first frame only) + bulk (this frame's part). The CRC covers header and
// payload. A message is one frame, or several with contiguous offsets if its bulk does not fit.
// Values are thread-safe; a MessageAssembler belongs to one thread.
#pragma once

#include "ditar/config/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

inline constexpr std::size_t kFrameHeaderBytes = 60;
/// Largest frame, header included.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 20;
/// Largest bulk of one message (256 MiB): 16,384 latents of 4 x 64 x 64.
inline constexpr std::uint64_t kMaxBulkBytes = std::uint64_t{1} << 28;

enum class MessageType : std::uint16_t {
  kHello = 1,  ///< worker: GroupHello
  kAccept,     ///< coordinator: the hello is as planned
  kRefuse,     ///< either side: FailureReport, and the end
  kLoad,       ///< coordinator: LoadRequest
  kLoaded,     ///< worker: LoadReply and reports
  kRun,        ///< coordinator: RunRequest, bulk = latents
  kResult,     ///< worker: RunReply, bulk = latents; kept until kAck
  kAck,        ///< coordinator: the message of this seq is taken
  kProgress,   ///< worker: ProgressReport
  kPing,       ///< coordinator: I am alive
  kResend,     ///< coordinator: send the answer of this seq again
  kStop,       ///< coordinator: end
  kBye,        ///< worker: I end
  kFailure     ///< worker: FailureReport, and the end
};
inline constexpr std::uint16_t kLastMessageType = 14;
std::string_view to_string(MessageType type) noexcept;

/// Names one launch of one group; random, so that nothing of an earlier one passes for it.
struct AttemptId {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const AttemptId&, const AttemptId&) = default;
  std::string hex() const;
  /// 128 bits from the system's generator. @throws IoError if it gives none.
  static AttemptId random();
  /// @throws InvalidArgument unless `text` is 32 hex digits.
  static AttemptId parse(std::string_view text);
};

/// What is wrong with a frame.
enum class FrameFault : std::uint8_t {
  kLength,    ///< shorter than a header, longer than the limit, or not as long as it says
  kMagic,     ///< not this protocol
  kVersion,   ///< this protocol, another version
  kChecksum,  ///< damaged
  kType,      ///< unknown message type
  kBulk,      ///< bulk counts that cannot be, or parts out of order
  kAttempt,   ///< of another attempt
  kMeta       ///< JSON that is not what the type says
};
std::string_view to_string(FrameFault fault) noexcept;

class FrameError : public TransportError {
 public:
  FrameError(FrameFault fault, std::string message,
             std::source_location where = std::source_location::current())
      : TransportError(std::move(message), where), fault_(fault) {}
  FrameFault fault() const noexcept { return fault_; }

 private:
  FrameFault fault_;
};

/// Owned bytes of one frame, whoever allocated them. Move-only.
class Frame {
 public:
  using Owner = std::unique_ptr<void, void (*)(void*)>;
  /// Uninitialised bytes of its own.
  explicit Frame(std::size_t size_bytes);
  Frame(std::byte* data, std::size_t size_bytes, Owner owner)
      : bytes_(data, size_bytes), owner_(std::move(owner)) {}

  std::span<std::byte> bytes() noexcept { return bytes_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Hands the allocation over; bytes() stays valid until the owner goes.
  Owner release() noexcept { return std::move(owner_); }

 private:
  std::span<std::byte> bytes_;
  Owner owner_;
};

/// A message to be sent; looks at memory of the caller.
struct OutMessage {
  MessageType type = MessageType::kPing;
  std::uint64_t seq = 0;
  std::string_view meta;  ///< JSON text; may be empty
  std::span<const float> bulk;
};

/// A message received whole.
struct InMessage {
  MessageType type = MessageType::kPing;
  std::uint64_t seq = 0;
  std::string meta;
  std::vector<float> bulk;
};

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to start).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// The frames of a message, in sending order. @throws InvalidArgument if meta does not fit one
/// frame or bulk is above kMaxBulkBytes.
std::vector<Frame> encode_frames(const AttemptId& attempt, const OutMessage& message);

/// Puts frames of one peer together again. Strict: the first fault throws FrameError and the
/// assembler starts afresh.
class MessageAssembler {
 public:
  explicit MessageAssembler(AttemptId attempt) : attempt_(attempt) {}
  /// Takes one frame; gives the message when its last frame is here.
  std::optional<InMessage> feed(std::span<const std::byte> frame);

 private:
  std::optional<InMessage> accept(std::span<const std::byte> frame);

  AttemptId attempt_;
  bool open_ = false;
  std::uint64_t bulk_bytes_ = 0;
  std::uint64_t filled_ = 0;
  InMessage pending_;
};

}  // namespace ditar
