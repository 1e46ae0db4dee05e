#include "zap_handler.h"

#include "ditar/config/error.h"

#include <array>
#include <vector>

namespace ditar {

namespace {

constexpr const char* kZapAddress = "inproc://zeromq.zap.01";
constexpr const char* kStopAddress = "inproc://ditar-zap-stop";

std::vector<std::string> receive_parts(zmq::socket_t& socket) {
  std::vector<std::string> parts;
  bool more = true;
  while (more) {
    zmq::message_t part;
    if (!socket.recv(part)) break;
    parts.push_back(part.to_string());
    more = part.more();
  }
  return parts;
}

void reply(zmq::socket_t& socket, const std::string& request_id, bool allowed) {
  const std::array<std::string, 6> parts = {
      "1.0", request_id, allowed ? "200" : "400", allowed ? "OK" : "unknown key", "", ""};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    socket.send(zmq::buffer(parts[i]),
                i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context, const std::string& allowed_client_public)
    : allowed_key_(32, '\0'),
      socket_(context, zmq::socket_type::rep),
      stop_send_(context, zmq::socket_type::pair),
      stop_receive_(context, zmq::socket_type::pair) {
  require(allowed_client_public.size() == 40 &&
              zmq_z85_decode(reinterpret_cast<std::uint8_t*>(allowed_key_.data()),
                             allowed_client_public.c_str()) != nullptr,
          "a client's CURVE key is not 40 characters of Z85");
  socket_.set(zmq::sockopt::linger, 0);
  stop_send_.set(zmq::sockopt::linger, 0);
  socket_.bind(kZapAddress);
  stop_receive_.bind(kStopAddress);
  stop_send_.connect(kStopAddress);
  thread_ = std::thread([this] { serve(); });
}

ZapHandler::~ZapHandler() {
  try {
    stop_send_.send(zmq::str_buffer("stop"), zmq::send_flags::dontwait);
  } catch (const zmq::error_t&) {  // the context is going; the thread sees that too
  }
  thread_.join();
}

void ZapHandler::serve() {
  try {
    while (true) {
      std::array<zmq::pollitem_t, 2> items = {
          {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {stop_receive_.handle(), 0, ZMQ_POLLIN, 0}}};
      zmq::poll(items.data(), items.size(), std::chrono::milliseconds(-1));
      if (items[1].revents != 0) return;
      // version, request id, domain, address, identity, mechanism, credentials
      const auto parts = receive_parts(socket_);
      const bool allowed =
          parts.size() == 7 && parts[0] == "1.0" && parts[5] == "CURVE" && parts[6] == allowed_key_;
      reply(socket_, parts.size() > 1 ? parts[1] : std::string(), allowed);
    }
  } catch (const zmq::error_t&) {  // the context was closed
  }
}

}  // namespace ditar
