#include "rank_link.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ditar {

namespace {
constexpr std::size_t kPayloadAt = 32;  // of the frame header: u32 payload bytes
}

MessageStream::~MessageStream() {
  if (fd_ >= 0) ::close(fd_);
  if (peer_.process >= 0) ::close(peer_.process);
}

MessageStream::MessageStream(MessageStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      assembler_(std::move(other.assembler_)),
      attempt_(other.attempt_),
      buffer_(std::move(other.buffer_)),
      peer_(std::exchange(other.peer_, RankPeer{nullptr, false, -1})) {}

void RankPeer::kill() const noexcept {
  if (process >= 0) ::syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
}

void MessageStream::send(const OutMessage& message) {
  for (const Frame& frame : encode_frames(attempt_, message)) {
    auto bytes = frame.bytes();
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) throw RankGone(-1);
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }
}

std::optional<InMessage> MessageStream::poll_message() {
  while (true) {
    std::size_t wanted = kFrameHeaderBytes;
    if (buffer_.size() >= kFrameHeaderBytes) {
      std::uint32_t payload = 0;
      std::memcpy(&payload, buffer_.data() + kPayloadAt, sizeof payload);
      if (payload > kMaxFrameBytes) throw TransportError("a rank sent a frame beyond the limit");
      wanted = kFrameHeaderBytes + payload;
      if (buffer_.size() == wanted) {
        auto message = assembler_.feed(buffer_);
        buffer_.clear();
        if (message) return message;
        continue;
      }
    }
    const std::size_t had = buffer_.size();
    buffer_.resize(wanted);
    const ssize_t got = ::recv(fd_, buffer_.data() + had, wanted - had, MSG_DONTWAIT);
    buffer_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got > 0) continue;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    throw RankGone(-1);
  }
}

bool MessageStream::wait_readable(std::chrono::milliseconds timeout) const {
  pollfd item{fd_, POLLIN, 0};
  return ::poll(&item, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace ditar
