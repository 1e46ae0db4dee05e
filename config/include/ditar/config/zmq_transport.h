// The ZeroMQ kind of Transport (target ditar::zmq): ROUTER binds, DEALER connects. One place sets
// every socket option. libzmq's own heartbeats only prove that its I/O thread lives; progress is
// the messages' business. See transport.h for threads.
#pragma once

#include "ditar/config/transport.h"

#include <memory>
#include <string>

namespace ditar {

/// Keys of a CURVE connection, Z85 text of 40 characters each. All empty: none, which is allowed
/// for ipc:// and loopback only.
struct CurveKeys {
  std::string server_public;
  std::string server_secret;  ///< server side only
  std::string client_public;  ///< the one client the server lets in
  std::string client_secret;  ///< client side only
  bool empty() const noexcept { return server_public.empty(); }
};
/// Fresh key pairs for both sides. @throws Unavailable if libzmq was built without CURVE.
CurveKeys make_curve_keys();

/// Binds "ipc:///short/path" or "tcp://address:port" (port * for any free one).
/// With keys only the client that holds `client_secret` gets in; the allow-list is checked inside.
/// @throws InvalidArgument if the path is too long or an address off loopback has no keys;
/// TransportError if binding fails.
std::unique_ptr<Transport> make_zmq_server(const std::string& endpoint, const CurveKeys& keys = {});
/// Connects; sends wait until the connection stands.
std::unique_ptr<Transport> make_zmq_client(const std::string& endpoint, const CurveKeys& keys = {});

/// True if nothing but this host can reach the endpoint.
bool is_local_endpoint(const std::string& endpoint);

}  // namespace ditar
