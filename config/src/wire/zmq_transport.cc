#include "ditar/config/zmq_transport.h"

#include "zap_handler.h"

#include <sys/un.h>
#include <zmq.hpp>

#include <array>
#include <cerrno>
#include <utility>

namespace ditar {

namespace {

using std::chrono::milliseconds;

/// Every option of every socket, in one place.
void set_common_options(zmq::socket_t& socket, bool encrypted) {
  // CURVE wraps each frame in 33 bytes more, and the limit counts them.
  constexpr std::int64_t kCurveBytes = 64;
  socket.set(zmq::sockopt::linger, 500);
  socket.set(zmq::sockopt::immediate, true);
  socket.set(zmq::sockopt::sndhwm, 64);
  socket.set(zmq::sockopt::rcvhwm, 64);
  socket.set(zmq::sockopt::maxmsgsize,
             static_cast<std::int64_t>(kMaxFrameBytes) + (encrypted ? kCurveBytes : 0));
  socket.set(zmq::sockopt::handshake_ivl, 5000);
  socket.set(zmq::sockopt::heartbeat_ivl, 1000);
  socket.set(zmq::sockopt::heartbeat_timeout, 3000);
  socket.set(zmq::sockopt::heartbeat_ttl, 3000);
  socket.set(zmq::sockopt::reconnect_ivl, 100);
  socket.set(zmq::sockopt::reconnect_ivl_max, 5000);
}

void check_endpoint(const std::string& endpoint, const CurveKeys& keys) {
  if (endpoint.starts_with("ipc://")) {
    const std::size_t length = endpoint.size() - 6;
    require(length > 0 && length < sizeof(sockaddr_un::sun_path),
            "the socket path " + endpoint + " has " + std::to_string(length) +
                " characters, the system allows " +
                std::to_string(sizeof(sockaddr_un::sun_path) - 1) + "; use a shorter directory");
    return;
  }
  require(endpoint.starts_with("tcp://"), "endpoint \"" + endpoint + "\" is neither ipc nor tcp");
  require(is_local_endpoint(endpoint) || !keys.empty(),
          "endpoint " + endpoint + " is off loopback and has no keys; CURVE is required there");
}

/// Wraps a received message so that its memory becomes the frame's without a copy.
Frame to_frame(zmq::message_t&& message) {
  auto owned = std::make_unique<zmq::message_t>(std::move(message));
  auto* data = static_cast<std::byte*>(owned->data());
  const std::size_t size = owned->size();
  return Frame(data, size, Frame::Owner(owned.release(), [](void* p) {
                 delete static_cast<zmq::message_t*>(p);
               }));
}

/// The other way: libzmq's I/O thread frees the frame's memory when it is sent.
zmq::message_t to_message(Frame frame) {
  const auto bytes = frame.bytes();
  auto owner = std::make_unique<Frame::Owner>(frame.release());
  zmq::message_t message(
      bytes.data(), bytes.size(),
      [](void* /*data*/, void* hint) { delete static_cast<Frame::Owner*>(hint); }, owner.get());
  (void)owner.release();
  return message;
}

class ZmqTransport : public Transport {
 public:
  ZmqTransport(const std::string& endpoint, const CurveKeys& keys, bool server)
      : server_(server),
        context_(1),
        socket_(context_, server ? zmq::socket_type::router : zmq::socket_type::dealer) {
    check_endpoint(endpoint, keys);
    set_common_options(socket_, !keys.empty());
    if (server) socket_.set(zmq::sockopt::router_mandatory, true);
    if (!keys.empty()) set_keys(keys);
    try {
      server ? socket_.bind(endpoint) : socket_.connect(endpoint);
    } catch (const zmq::error_t& error) {
      throw TransportError((server ? "cannot listen at " : "cannot connect to ") + endpoint + ": " +
                           error.what());
    }
    endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
  }
  ~ZmqTransport() override {
    socket_.close();
    zap_.reset();
  }

  void send(const PeerId& peer, Frame frame, milliseconds timeout) override {
    zmq::message_t body = to_message(std::move(frame));
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!try_send(peer, body)) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) throw TimeoutError("the queue to " + endpoint_ + " stays full");
      // A full ROUTER queue reads as writable, so the wait is bounded and the send tried again.
      wait_for(ZMQ_POLLOUT, std::min(left, milliseconds(server_ ? 5 : 100)));
      if (server_) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  std::optional<Packet> receive(milliseconds timeout) override {
    zmq::message_t first;
    if (!take(first)) {
      if (timeout.count() <= 0 || !wait_for(ZMQ_POLLIN, timeout)) return std::nullopt;
      if (!take(first)) return std::nullopt;
    }
    PeerId peer;
    if (server_) {
      peer = first.to_string();
      if (!first.more()) return std::nullopt;
      if (!take(first)) return std::nullopt;
    }
    // One frame is one part; a peer that sends more breaks the contract, and its rest is dropped.
    if (first.more()) {
      for (zmq::message_t rest; take(rest) && rest.more();) {
      }
      return Packet{std::move(peer), Frame(0)};
    }
    return Packet{std::move(peer), to_frame(std::move(first))};
  }

  std::string endpoint() const override { return endpoint_; }

 private:
  void set_keys(const CurveKeys& keys) {
    if (server_) {
      zap_ = std::make_unique<ZapHandler>(context_, keys.client_public);
      socket_.set(zmq::sockopt::zap_domain, "ditar");
      socket_.set(zmq::sockopt::curve_server, true);
      socket_.set(zmq::sockopt::curve_secretkey, keys.server_secret);
    } else {
      socket_.set(zmq::sockopt::curve_serverkey, keys.server_public);
      socket_.set(zmq::sockopt::curve_publickey, keys.client_public);
      socket_.set(zmq::sockopt::curve_secretkey, keys.client_secret);
    }
  }

  bool try_send(const PeerId& peer, zmq::message_t& body) {
    try {
      if (server_) {
        const auto flags = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
        if (!socket_.send(zmq::buffer(peer), flags)) return false;
      }
      return socket_.send(body, zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) return false;
      throw TransportError("the peer at " + endpoint_ +
                           " is not connected any more: " + error.what());
    }
  }

  bool take(zmq::message_t& message) {
    try {
      return socket_.recv(message, zmq::recv_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) return false;
      throw TransportError("receiving at " + endpoint_ + " failed: " + error.what());
    }
  }

  bool wait_for(short events, milliseconds timeout) {
    zmq::pollitem_t item{socket_.handle(), 0, events, 0};
    try {
      return zmq::poll(&item, 1, timeout) > 0;
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) return false;
      throw TransportError("waiting at " + endpoint_ + " failed: " + error.what());
    }
  }

  bool server_;
  zmq::context_t context_;
  std::unique_ptr<ZapHandler> zap_;
  zmq::socket_t socket_;
  std::string endpoint_;
};

}  // namespace

bool is_local_endpoint(const std::string& endpoint) {
  return endpoint.starts_with("ipc://") || endpoint.starts_with("tcp://127.") ||
         endpoint.starts_with("tcp://localhost:") || endpoint.starts_with("tcp://[::1]:");
}

CurveKeys make_curve_keys() {
  const auto make_pair = [](std::string& public_key, std::string& secret_key) {
    std::array<char, 41> pub{};
    std::array<char, 41> sec{};
    if (zmq_curve_keypair(pub.data(), sec.data()) != 0) {
      throw Unavailable("this libzmq was built without CURVE; install the distribution's libzmq5");
    }
    public_key = pub.data();
    secret_key = sec.data();
  };
  CurveKeys keys;
  make_pair(keys.server_public, keys.server_secret);
  make_pair(keys.client_public, keys.client_secret);
  return keys;
}

std::unique_ptr<Transport> make_zmq_server(const std::string& endpoint, const CurveKeys& keys) {
  return std::make_unique<ZmqTransport>(endpoint, keys, true);
}

std::unique_ptr<Transport> make_zmq_client(const std::string& endpoint, const CurveKeys& keys) {
  return std::make_unique<ZmqTransport>(endpoint, keys, false);
}

}  // namespace ditar
