// The program's version, as printed by dit-ar --version and written into every receipt.
#pragma once

#include <string_view>

namespace ditar {

std::string_view version() noexcept;

}  // namespace ditar
