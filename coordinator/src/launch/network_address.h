// The IPv4 address of a network interface. Private to coordinator/src/launch. Stateless.
#pragma once

#include <string>

namespace ditar {

/// @throws InvalidArgument listing the interfaces there are if `interface` has no IPv4 address.
std::string address_of(const std::string& interface);

}  // namespace ditar
