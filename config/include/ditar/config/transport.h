// Frames between one coordinator (the server side, many peers) and workers (the client side, one
// peer). Kinds: ZeroMQ (zmq_transport.h) and in memory, below. An end is used by one thread at a
// time; several threads share one under a mutex of their own.
#pragma once

#include "ditar/config/wire_frame.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace ditar {

/// Names a peer on the server side; empty on the client side.
using PeerId = std::string;

struct Packet {
  PeerId peer;
  Frame frame;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Queues one frame, waiting up to `timeout` for room. @throws TransportError if the peer is not
  /// connected, TimeoutError if its queue stays full.
  virtual void send(const PeerId& peer, Frame frame, std::chrono::milliseconds timeout) = 0;
  /// The next frame, or nothing after `timeout` (or earlier, if a signal came). Blocks in poll().
  virtual std::optional<Packet> receive(std::chrono::milliseconds timeout) = 0;
  /// Where the other side connects to; for a bound port the real one.
  virtual std::string endpoint() const = 0;
};

/// The kind without a network, for tests and for work inside one process: a hub keeps the queues;
/// its ends may live on different threads. Queues hold 64 frames, as the ZeroMQ kind's do.
class InMemoryHub {
 public:
  InMemoryHub();
  ~InMemoryHub();
  std::unique_ptr<Transport> make_server();
  /// A client whose peer name on the server is `peer`. When it goes, sends to it fail.
  std::unique_ptr<Transport> make_client(PeerId peer);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Sends all frames of one message in order; `last_out`, if given, is called right before the last
/// frame is handed over (where the clock of a request starts).
template <typename LastOut>
void send_message(Transport& transport, const PeerId& peer, const AttemptId& attempt,
                  const OutMessage& message, std::chrono::milliseconds timeout,
                  LastOut&& last_out) {
  auto frames = encode_frames(attempt, message);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i + 1 == frames.size()) last_out();
    transport.send(peer, std::move(frames[i]), timeout);
  }
}
inline void send_message(Transport& transport, const PeerId& peer, const AttemptId& attempt,
                         const OutMessage& message, std::chrono::milliseconds timeout) {
  send_message(transport, peer, attempt, message, timeout, [] {});
}

}  // namespace ditar
