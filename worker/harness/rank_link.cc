#include "rank_link.h"

#include "ditar/config/wire_codec.h"

#include <poll.h>

#include <utility>

namespace ditar {

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
      throw RankGone(static_cast<int>(i) + 1);
    }
  }
}

void RankHub::take(std::size_t index, InMessage message) {
  if (message.type == MessageType::kProgress) {
    const auto report = decode_meta<ProgressReport>(message.meta);
    if (!report.steps.empty()) steps_[index] = report.steps.front();
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
    if (gone_[i] && inbox_[i].empty()) throw RankGone(static_cast<int>(i) + 1);
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

std::vector<InMessage> RankHub::collect(MessageType type, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<InMessage> messages;
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

InMessage RankSpoke::wait() {
  while (true) {
    if (auto message = stream_.poll_message()) return std::move(*message);
    stream_.wait_readable(std::chrono::milliseconds(-1));
  }
}

bool RankSpoke::lead_is_gone() const {
  pollfd item{stream_.fd(), POLLRDHUP, 0};
  return ::poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace ditar
