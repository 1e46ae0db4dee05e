// Small text helpers of the parsers. Stateless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ditar::text {

std::vector<std::string> lines(std::string_view text);
std::vector<std::string> words(std::string_view line);
std::vector<std::string> split(std::string_view line, char separator);
std::string_view trim(std::string_view line) noexcept;
/// True for one or more decimal digits and nothing else.
bool is_number(std::string_view word) noexcept;
/// The line for an error text: trimmed, control characters replaced, cut at 60 characters.
std::string quote(std::string_view line);

}  // namespace ditar::text
