// Rank 0's connection to the coordinator. Shared by the main thread, which waits for work and
// answers, and the heartbeat thread, which speaks while the main one works; it locks itself.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/config/transport.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

class CoordinatorLink {
 public:
  /// `lease`: longest silence of the coordinator that is borne.
  CoordinatorLink(std::unique_ptr<Transport> transport, AttemptId attempt,
                  std::chrono::milliseconds lease);

  /// The next message other than a ping. Blocks, in poll(); the main thread only.
  /// @throws TimeoutError when the lease runs out, FrameError if a frame is broken.
  InMessage wait();
  void send(MessageType type, std::uint64_t seq, const std::string& meta);
  /// Sends an answer and keeps it until forget(). Takes `bulk` over.
  void send_kept(MessageType type, std::uint64_t seq, std::string meta, std::vector<float> bulk);
  /// Sends the kept answer of `seq` again. @throws TransportError if it is not kept.
  void resend(std::uint64_t seq);
  void forget(std::uint64_t seq);

  /// From the heartbeat thread: sends a sign of life and takes in what came.
  void beat(const ProgressReport& progress);
  bool lease_is_over() const;
  /// Closes the socket after giving what is queued half a second to leave.
  void close();

 private:
  /// Takes one packet, waiting up to `timeout`; queues a whole message unless it is a ping.
  bool take_packet(std::chrono::milliseconds timeout);
  void note_traffic();

  std::mutex mutex_;
  std::unique_ptr<Transport> transport_;
  AttemptId attempt_;
  MessageAssembler assembler_;
  std::chrono::milliseconds lease_;
  std::atomic<std::int64_t> last_traffic_ms_;
  std::deque<InMessage> inbox_;
  MessageType kept_type_ = MessageType::kResult;
  std::uint64_t kept_seq_ = 0;
  std::string kept_meta_;
  std::vector<float> kept_bulk_;
};

}  // namespace ditar
