// Stream sockets between rank 0 and the other ranks of a group, so that idle ranks block in poll()
// and never spin in MPI. Messages are the frames of wire_frame.h. A Unix socket on one host, TCP
// with a random token between hosts. Each object may be used by two threads at a time (the main
// one and the heartbeat); it locks itself.
#pragma once

#include "ditar/config/wire_frame.h"
#include "ditar/parallel/bootstrap.h"
#include "ditar/parallel/pulse.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ditar {

/// Another rank of the group has gone without a word; the launcher will know more.
class RankGone : public Error {
 public:
  /// @param rank the rank that is gone, -1 where it is not known.
  /// @param last what it was last seen in, or empty.
  explicit RankGone(int rank, const std::string& last = {},
                    std::source_location where = std::source_location::current())
      : Error((rank < 0 ? "another rank of the group is gone"
                        : "rank " + std::to_string(rank) + " of the group is gone") +
                  (last.empty() ? "" : ", last seen in " + last),
              ExitCode::kTemporary, where),
        rank_(rank) {}
  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

/// What a rank can see of another beside its messages.
struct RankPeer {
  std::shared_ptr<PulsePage> page = std::make_shared<PulsePage>();
  bool shared = false;  ///< the page is the other's own; else messages keep it up to date
  int process = -1;     ///< pidfd of a rank on this host, or -1

  /// Ends the other's process at once, where that is possible.
  void kill() const noexcept;
};

/// One connected stream socket that carries messages. Move-only; one thread at a time.
class MessageStream {
 public:
  MessageStream(int fd, AttemptId attempt) : fd_(fd), assembler_(attempt), attempt_(attempt) {}
  ~MessageStream();
  MessageStream(MessageStream&& other) noexcept;
  MessageStream& operator=(MessageStream&&) = delete;
  MessageStream(const MessageStream&) = delete;

  int fd() const noexcept { return fd_; }
  RankPeer& peer() noexcept { return peer_; }
  const RankPeer& peer() const noexcept { return peer_; }
  /// Writes the whole message. @throws RankGone if the other end is gone.
  void send(const OutMessage& message);
  /// Reads what is there without blocking and gives the next whole message, if one is complete.
  /// @throws RankGone if the other end is gone.
  std::optional<InMessage> poll_message();
  /// Waits up to `timeout` for data or the other end's going; true if there is something.
  bool wait_readable(std::chrono::milliseconds timeout) const;

 private:
  int fd_;
  MessageAssembler assembler_;
  AttemptId attempt_;
  std::vector<std::byte> buffer_;
  RankPeer peer_;
};

/// A ProgressReport's meta with the finished steps and this rank's pulse in it, and its way into
/// the page of a rank on another host.
std::string encode_progress(std::uint64_t steps, const PulsePage& page);
/// @throws FrameError unless the meta is of encode_progress. Gives the steps.
std::uint64_t take_progress(const std::string& meta, RankPeer& peer);

/// Rank 0's end: one stream per other rank.
class RankHub {
 public:
  RankHub(std::vector<MessageStream> streams);

  void send_all(const OutMessage& message);
  /// One message of `type` from every other rank, in rank order. Blocks.
  /// @throws RankGone if a rank is gone, TimeoutError after `timeout`, Error with the rank's
  /// own words if it reported a failure.
  std::vector<InMessage> collect(MessageType type, std::chrono::milliseconds timeout);
  /// Takes in what has come without blocking; throws as collect() does.
  void pump();
  /// Steps that the other ranks have reported, by rank - 1.
  std::vector<std::uint64_t> steps() const;
  /// What the other ranks do, by rank - 1.
  std::vector<PulseSnapshot> pulses(std::chrono::steady_clock::time_point now) const;
  void kill(int rank) const noexcept;
  /// Tells the ranks of other hosts of rank 0's pulse.
  void tell_pulse(const PulsePage& page);
  /// The sockets, for poll().
  std::vector<int> fds() const;

 private:
  void pump_locked();
  RankGone gone(std::size_t index) const;
  void take(std::size_t index, InMessage message);

  mutable std::mutex mutex_;
  std::vector<MessageStream> streams_;
  std::vector<std::deque<InMessage>> inbox_;
  std::vector<bool> gone_;  ///< what a rank said before it went still counts
  std::vector<std::uint64_t> steps_;
};

/// Another rank's end.
class RankSpoke {
 public:
  explicit RankSpoke(MessageStream stream) : stream_(std::move(stream)) {}
  void send(const OutMessage& message);
  /// The next message from rank 0. Blocks in poll() for as long as it takes.
  /// @throws RankGone if rank 0 is gone.
  InMessage wait();
  /// True once rank 0 has gone; does not block.
  bool lead_is_gone() const;
  /// Takes in what has come without blocking. @throws RankGone if rank 0 is gone.
  void pump();
  PulseSnapshot lead_pulse(std::chrono::steady_clock::time_point now) const;
  void kill_lead() const noexcept { stream_.peer().kill(); }
  int fd() const noexcept { return stream_.fd(); }

 private:
  std::optional<InMessage> poll_locked();

  std::mutex send_mutex_;
  mutable std::mutex receive_mutex_;
  MessageStream stream_;
  std::deque<InMessage> inbox_;
};

struct RankLinks {
  std::shared_ptr<PulsePage> page = std::make_shared<PulsePage>();  ///< this rank's own
  std::unique_ptr<RankHub> hub;                                     ///< on rank 0
  std::unique_ptr<RankSpoke> spoke;                                 ///< elsewhere
};
/// Connects the group. Collective; blocks up to the bootstrap's deadline.
/// `one_host`: all ranks are on this host.
RankLinks connect_ranks(Bootstrap& bootstrap, bool one_host);

/// What a follower failed with, thrown on rank 0.
class RankFailed : public Error {
 public:
  RankFailed(int rank, const std::string& message, ExitCode code)
      : Error(message, code), rank_(rank) {}
  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

}  // namespace ditar
