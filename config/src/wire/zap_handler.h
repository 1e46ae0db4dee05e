// The allow-list of a CURVE server: answers libzmq's authentication requests (RFC 27, "ZAP") of one
// context from a thread of its own. Without one libzmq lets any key in. Private to config/src/wire.
#pragma once

#include <zmq.hpp>

#include <string>
#include <thread>

namespace ditar {

class ZapHandler {
 public:
  /// Lets in exactly the client with this public key (Z85). Must be made before the server binds
  /// and goes before its context.
  ZapHandler(zmq::context_t& context, const std::string& allowed_client_public);
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

 private:
  void serve();

  std::string allowed_key_;  // 32 bytes
  zmq::socket_t socket_;
  zmq::socket_t stop_send_;
  zmq::socket_t stop_receive_;
  std::thread thread_;
};

}  // namespace ditar
