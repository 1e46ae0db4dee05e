// Setting up the sockets between ranks: rank 0 listens and tells its address through the bootstrap,
// the others connect and name themselves.
#include "ditar/config/wire_codec.h"
#include "rank_link.h"
#include "shared_page.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace ditar {

namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

/// A name in Linux's abstract space: no file to clean up. Only this user's processes learn it.
Address abstract_address(const std::string& name) {
  Address address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.storage);
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Address tcp_address(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
    throw TransportError("host " + host + " of rank 0 cannot be resolved on this host");
  }
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

int listen_on(Address address) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, address.get(), address.length) != 0 || ::listen(fd, 64) != 0) {
    if (fd >= 0) ::close(fd);
    throw IoError("rank 0 cannot listen for the other ranks: " + std::string(std::strerror(errno)));
  }
  return fd;
}

std::string port_of(int fd) {
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  return std::to_string(ntohs(bound.sin_port));
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

MessageStream connect_to(Address address, const AttemptId& token) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, address.get(), address.length) != 0) {
    if (fd >= 0) ::close(fd);
    throw TransportError("cannot connect to rank 0: " + std::string(std::strerror(errno)));
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {fd, token};
}

/// On one host: a handle on the other's process, and its pulse page for this rank's.
void meet_neighbour(MessageStream& stream, const SharedPage& own, bool first) {
  RankPeer& peer = stream.peer();
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(stream.fd(), SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.pid > 0) {
    peer.process = static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0));
  }
  if (first) send_fd(stream.fd(), own.fd);
  const int fd = receive_fd(stream.fd());
  if (!first) send_fd(stream.fd(), own.fd);
  if (fd < 0) return;
  if (auto page = map_page(fd)) {
    peer.page = std::move(page);
    peer.shared = true;
  }
  ::close(fd);
}

/// Takes connections until every rank has named itself; strangers without the token are dropped.
std::vector<MessageStream> accept_ranks(int listener, int size, const AttemptId& token,
                                        const SharedPage* neighbour) {
  std::vector<std::optional<MessageStream>> by_rank(static_cast<std::size_t>(size));
  int missing = size - 1;
  while (missing > 0) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    MessageStream stream(fd, token);
    try {
      if (!stream.wait_readable(std::chrono::seconds(5))) continue;
      const auto hello = stream.poll_message();
      if (!hello || hello->seq < 1 || hello->seq >= by_rank.size() || by_rank[hello->seq]) continue;
      if (neighbour != nullptr) meet_neighbour(stream, *neighbour, false);
      by_rank[hello->seq].emplace(std::move(stream));
      --missing;
    } catch (const TransportError&) {
      continue;
    }
  }
  std::vector<MessageStream> streams;
  for (std::size_t r = 1; r < by_rank.size(); ++r) streams.push_back(std::move(*by_rank[r]));
  return streams;
}

struct Closer {
  int fd;
  ~Closer() {
    if (fd >= 0) ::close(fd);
  }
};

std::vector<std::byte> to_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

RankLinks connect_ranks(Bootstrap& bootstrap, bool one_host) {
  RankLinks links;
  const SharedPage own = make_shared_page();
  const Closer closer{own.fd};
  links.page = own.page;
  // The token is fresh and only travels through the bootstrap; it also scopes the frames.
  std::vector<std::byte> blob;
  int listener = -1;
  if (bootstrap.rank() == 0) {
    const AttemptId token = AttemptId::random();
    std::string where;
    if (one_host) {
      listener = listen_on(abstract_address("ditar-" + token.hex()));
    } else {
      listener = listen_on(tcp_address("0.0.0.0", "0"));
      where = host_name() + " " + port_of(listener);
    }
    blob = to_bytes(token.hex() + where);
  }
  bootstrap.broadcast(blob, 0);
  const std::string text(reinterpret_cast<const char*>(blob.data()), blob.size());
  const AttemptId token = AttemptId::parse(text.substr(0, 32));
  if (bootstrap.rank() == 0) {
    auto streams = accept_ranks(listener, bootstrap.size(), token, one_host ? &own : nullptr);
    ::close(listener);
    links.hub = std::make_unique<RankHub>(std::move(streams));
    return links;
  }
  const std::string where = text.substr(32);
  const auto space = where.find(' ');
  auto stream = connect_to(one_host ? abstract_address("ditar-" + token.hex())
                                    : tcp_address(where.substr(0, space), where.substr(space + 1)),
                           token);
  stream.send({MessageType::kHello, static_cast<std::uint64_t>(bootstrap.rank()), {}, {}});
  if (one_host) meet_neighbour(stream, own, true);
  links.spoke = std::make_unique<RankSpoke>(std::move(stream));
  return links;
}

}  // namespace ditar
