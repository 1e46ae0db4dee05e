// The class that an experiment claims and the order of looseness among classes. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

namespace ditar {

/// In order of looseness: a chain is gated by its loosest class.
enum class ChangeClass : std::uint8_t { kExact, kNumerical, kQuantization, kApproximate };

std::string_view to_string(ChangeClass value) noexcept;  ///< "exact", "numerical", ...
/// @throws InvalidArgument naming the text and the four words.
ChangeClass change_class_from(std::string_view text);
ChangeClass loosest(ChangeClass a, ChangeClass b) noexcept;

}  // namespace ditar
