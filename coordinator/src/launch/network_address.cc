#include "network_address.h"

#include "ditar/config/error.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <array>
#include <memory>

namespace ditar {

std::string address_of(const std::string& interface) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw IoError("the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::string known;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if (interface == entry->ifa_name) {
      std::array<char, INET_ADDRSTRLEN> text{};
      const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
      return text.data();
    }
    known += std::string(" ") + entry->ifa_name;
  }
  throw InvalidArgument("network interface \"" + interface +
                        "\" has no IPv4 address; there are:" + known);
}

}  // namespace ditar
