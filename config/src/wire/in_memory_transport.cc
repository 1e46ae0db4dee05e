#include "ditar/config/transport.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace ditar {

namespace {
constexpr std::size_t kQueueFrames = 64;
}

struct InMemoryHub::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<PeerId, std::deque<Frame>> to_client;
  std::deque<std::pair<PeerId, Frame>> to_server;
  std::set<PeerId> connected;
};

namespace {

template <typename SharedState>
class ServerEnd : public Transport {
 public:
  explicit ServerEnd(SharedState state) : state_(std::move(state)) {}

  void send(const PeerId& peer, Frame frame, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(state_->mutex);
    const auto gone = [&] { return !state_->connected.contains(peer); };
    const bool settled = state_->changed.wait_for(
        lock, timeout, [&] { return gone() || state_->to_client[peer].size() < kQueueFrames; });
    if (gone()) throw TransportError("peer \"" + peer + "\" is not connected");
    if (!settled) throw TimeoutError("the queue of peer \"" + peer + "\" stays full");
    state_->to_client[peer].push_back(std::move(frame));
    state_->changed.notify_all();
  }
  std::optional<Packet> receive(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_for(lock, timeout, [&] { return !state_->to_server.empty(); })) {
      return std::nullopt;
    }
    auto [peer, frame] = std::move(state_->to_server.front());
    state_->to_server.pop_front();
    state_->changed.notify_all();
    return Packet{std::move(peer), std::move(frame)};
  }
  std::string endpoint() const override { return "memory"; }

 private:
  SharedState state_;
};

template <typename SharedState>
class ClientEnd : public Transport {
 public:
  ClientEnd(SharedState state, PeerId peer) : state_(std::move(state)), peer_(std::move(peer)) {
    const std::lock_guard lock(state_->mutex);
    require(state_->connected.insert(peer_).second, "peer \"" + peer_ + "\" is connected already");
  }
  ~ClientEnd() override {
    const std::lock_guard lock(state_->mutex);
    state_->connected.erase(peer_);
    state_->to_client.erase(peer_);
    state_->changed.notify_all();
  }

  void send(const PeerId& /*peer*/, Frame frame, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_for(lock, timeout,
                                  [&] { return state_->to_server.size() < kQueueFrames; })) {
      throw TimeoutError("the server's queue stays full");
    }
    state_->to_server.emplace_back(peer_, std::move(frame));
    state_->changed.notify_all();
  }
  std::optional<Packet> receive(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(state_->mutex);
    auto& queue = state_->to_client[peer_];
    if (!state_->changed.wait_for(lock, timeout, [&] { return !queue.empty(); })) {
      return std::nullopt;
    }
    Packet packet{{}, std::move(queue.front())};
    queue.pop_front();
    state_->changed.notify_all();
    return packet;
  }
  std::string endpoint() const override { return "memory"; }

 private:
  SharedState state_;
  PeerId peer_;
};

}  // namespace

InMemoryHub::InMemoryHub() : state_(std::make_shared<State>()) {}
InMemoryHub::~InMemoryHub() = default;
std::unique_ptr<Transport> InMemoryHub::make_server() {
  return std::make_unique<ServerEnd<std::shared_ptr<State>>>(state_);
}
std::unique_ptr<Transport> InMemoryHub::make_client(PeerId peer) {
  return std::make_unique<ClientEnd<std::shared_ptr<State>>>(state_, std::move(peer));
}

}  // namespace ditar
