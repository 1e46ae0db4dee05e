#include "coordinator_link.h"

#include "ditar/config/wire_codec.h"

#include <utility>

namespace ditar {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSendPatience{5000};
constexpr milliseconds kIdleSlice{1000};

std::int64_t now_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CoordinatorLink::CoordinatorLink(std::unique_ptr<Transport> transport, AttemptId attempt,
                                 milliseconds lease)
    : transport_(std::move(transport)),
      attempt_(attempt),
      assembler_(attempt),
      lease_(lease),
      last_traffic_ms_(now_ms()) {}

void CoordinatorLink::note_traffic() { last_traffic_ms_ = now_ms(); }

bool CoordinatorLink::lease_is_over() const { return now_ms() - last_traffic_ms_ > lease_.count(); }

bool CoordinatorLink::take_packet(milliseconds timeout) {
  auto packet = transport_->receive(timeout);
  if (!packet) return false;
  note_traffic();
  auto message = assembler_.feed(packet->frame.bytes());
  if (message && message->type != MessageType::kPing) inbox_.push_back(std::move(*message));
  return true;
}

InMessage CoordinatorLink::wait() {
  while (true) {
    const std::lock_guard lock(mutex_);
    if (!inbox_.empty()) {
      InMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      return message;
    }
    take_packet(kIdleSlice);
    if (lease_is_over()) {
      throw TimeoutError("the coordinator was silent for " + std::to_string(lease_.count()) +
                         " ms; this worker ends");
    }
  }
}

void CoordinatorLink::send(MessageType type, std::uint64_t seq, const std::string& meta) {
  const std::lock_guard lock(mutex_);
  if (transport_) send_message(*transport_, {}, attempt_, {type, seq, meta, {}}, kSendPatience);
}

void CoordinatorLink::send_kept(MessageType type, std::uint64_t seq, std::string meta,
                                std::vector<float> bulk) {
  const std::lock_guard lock(mutex_);
  kept_type_ = type;
  kept_seq_ = seq;
  kept_meta_ = std::move(meta);
  kept_bulk_ = std::move(bulk);
  send_message(*transport_, {}, attempt_, {type, seq, kept_meta_, kept_bulk_}, kSendPatience);
}

void CoordinatorLink::resend(std::uint64_t seq) {
  const std::lock_guard lock(mutex_);
  if (seq == 0 || seq != kept_seq_) {
    throw TransportError("answer " + std::to_string(seq) + " is asked for again but not kept");
  }
  send_message(*transport_, {}, attempt_, {kept_type_, seq, kept_meta_, kept_bulk_}, kSendPatience);
}

void CoordinatorLink::forget(std::uint64_t seq) {
  const std::lock_guard lock(mutex_);
  if (seq == kept_seq_) kept_seq_ = 0;
}

void CoordinatorLink::beat(const ProgressReport& progress) {
  const std::lock_guard lock(mutex_);
  if (!transport_) return;
  const std::string meta = encode_meta(progress);
  send_message(*transport_, {}, attempt_, {MessageType::kProgress, 0, meta, {}}, milliseconds(100));
  while (take_packet(milliseconds(0))) {
  }
}

void CoordinatorLink::close() {
  const std::lock_guard lock(mutex_);
  transport_.reset();
}

}  // namespace ditar
