#include "rank_link.h"

#include "ditar/config/wire_codec.h"

#include <poll.h>

#include <utility>

namespace ditar {

std::string encode_progress(std::uint64_t steps, const PulsePage& page) {
  const PulseSnapshot seen = read_pulse(page, std::chrono::steady_clock::now());
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return encode_meta(
      ProgressReport{seen.op,
                     {steps, seen.ticks, number(seen.state), number(seen.tick_age.count()),
                      number(seen.allowed.count()), number(seen.step + 1), number(seen.block + 1),
                      number(seen.peer + 1)}});
}

std::uint64_t take_progress(const std::string& meta, RankPeer& peer) {
  const auto report = decode_meta<ProgressReport>(meta);
  const auto& n = report.steps;
  if (n.size() != 8)
    throw TransportError("a rank's progress has " + std::to_string(n.size()) +
                         " numbers where 8 are due");
  if (!peer.shared) {
    PulseSnapshot seen;
    seen.op = report.phase;
    seen.ticks = n[1];
    seen.state = static_cast<PulseState>(n[2]);
    seen.tick_age = std::chrono::milliseconds(n[3]);
    seen.allowed = std::chrono::milliseconds(n[4]);
    seen.step = static_cast<std::int64_t>(n[5]) - 1;
    seen.block = static_cast<std::int64_t>(n[6]) - 1;
    seen.peer = static_cast<std::int32_t>(n[7]) - 1;
    write_pulse(*peer.page, seen, std::chrono::steady_clock::now());
  }
  return n[0];
}

RankHub::RankHub(std::vector<MessageStream> streams)
    : streams_(std::move(streams)),
      inbox_(streams_.size()),
      gone_(streams_.size(), false),
      steps_(streams_.size(), 0) {}

void RankHub::send_all(const OutMessage& message) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    try {
      streams_[i].send(message);
    } catch (const RankGone&) {
      throw gone(i);
    }
  }
}

RankGone RankHub::gone(std::size_t index) const {
  const auto now = std::chrono::steady_clock::now();
  return RankGone(static_cast<int>(index) + 1,
                  read_pulse(*streams_[index].peer().page, now).where());
}

void RankHub::take(std::size_t index, InMessage message) {
  if (message.type == MessageType::kProgress) {
    steps_[index] = take_progress(message.meta, streams_[index].peer());
  } else if (message.type == MessageType::kFailure) {
    const auto report = decode_meta<FailureReport>(message.meta);
    throw RankFailed(static_cast<int>(index) + 1, report.message,
                     static_cast<ExitCode>(report.exit_code));
  } else {
    inbox_[index].push_back(std::move(message));
  }
}

void RankHub::pump_locked() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    try {
      while (!gone_[i]) {
        auto message = streams_[i].poll_message();
        if (!message) break;
        take(i, std::move(*message));
      }
    } catch (const RankGone&) {
      gone_[i] = true;
    }
    if (gone_[i] && inbox_[i].empty()) throw gone(i);
  }
}

void RankHub::pump() {
  const std::lock_guard lock(mutex_);
  pump_locked();
}

std::vector<std::uint64_t> RankHub::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::vector<PulseSnapshot> RankHub::pulses(std::chrono::steady_clock::time_point now) const {
  std::vector<PulseSnapshot> all;
  for (const MessageStream& stream : streams_) all.push_back(read_pulse(*stream.peer().page, now));
  return all;
}

void RankHub::tell_pulse(const PulsePage& page) {
  const std::lock_guard lock(mutex_);
  for (MessageStream& stream : streams_) {
    if (stream.peer().shared) continue;
    const std::string meta = encode_progress(0, page);
    stream.send({MessageType::kProgress, 0, meta, {}});
  }
}

void RankHub::kill(int rank) const noexcept {
  if (rank >= 1) streams_[static_cast<std::size_t>(rank) - 1].peer().kill();
}

std::vector<int> RankHub::fds() const {
  std::vector<int> all;
  for (const MessageStream& stream : streams_) all.push_back(stream.fd());
  return all;
}

std::vector<InMessage> RankHub::collect(MessageType type, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<InMessage> messages;
  const PulseWait waiting("the other ranks' answers");
  while (true) {
    std::vector<pollfd> missing;
    {
      const std::lock_guard lock(mutex_);
      pump_locked();
      for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (inbox_[i].empty()) missing.push_back({streams_[i].fd(), POLLIN, 0});
      }
      if (missing.empty()) {
        for (auto& box : inbox_) {
          if (box.front().type != type) {
            throw TransportError("a rank answered " + std::string(to_string(box.front().type)) +
                                 " where " + std::string(to_string(type)) + " is due");
          }
          messages.push_back(std::move(box.front()));
          box.pop_front();
        }
        return messages;
      }
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw TimeoutError("a rank of the group did not answer within " +
                         std::to_string(timeout.count()) + " ms");
    }
    ::poll(missing.data(), missing.size(), 100);
  }
}

void RankSpoke::send(const OutMessage& message) {
  const std::lock_guard lock(send_mutex_);
  stream_.send(message);
}

/// The next message that is none of progress.
std::optional<InMessage> RankSpoke::poll_locked() {
  while (auto message = stream_.poll_message()) {
    if (message->type != MessageType::kProgress) return message;
    (void)take_progress(message->meta, stream_.peer());
  }
  return std::nullopt;
}

InMessage RankSpoke::wait() {
  while (true) {
    {
      const std::lock_guard lock(receive_mutex_);
      if (!inbox_.empty()) {
        InMessage message = std::move(inbox_.front());
        inbox_.pop_front();
        return message;
      }
      if (auto message = poll_locked()) return std::move(*message);
    }
    stream_.wait_readable(std::chrono::milliseconds(-1));
  }
}

void RankSpoke::pump() {
  const std::lock_guard lock(receive_mutex_);
  while (auto message = poll_locked()) inbox_.push_back(std::move(*message));
}

PulseSnapshot RankSpoke::lead_pulse(std::chrono::steady_clock::time_point now) const {
  return read_pulse(*stream_.peer().page, now);
}

bool RankSpoke::lead_is_gone() const {
  pollfd item{stream_.fd(), POLLRDHUP, 0};
  return ::poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace ditar
