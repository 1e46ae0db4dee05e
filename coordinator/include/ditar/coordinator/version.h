// The program's version, as printed by dit-ar --version and written into every receipt.
#pragma once

#include <string>
#include <string_view>

namespace ditar {

std::string_view version() noexcept;

/// SHA-256 of this process's own executable, read once. @throws IoError.
const std::string& program_sha256();

}  // namespace ditar
