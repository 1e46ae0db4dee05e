// The nearest of a few known words, for error messages. Stateless; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// The known word with the smallest edit distance, or "" if none is near enough to be meant.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace ditar
