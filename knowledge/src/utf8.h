// The little of Unicode that search needs: decoding, letters, folding. Stateless; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ditar::knowledge {

inline constexpr char32_t kInvalidCode = 0xFFFFFFFF;

/// Reads one code point at `at` and moves `at` on; a bad byte gives kInvalidCode and moves by one.
char32_t next_code_point(std::string_view text, std::size_t& at);

bool is_letter(char32_t code);
bool is_upper(char32_t code);
bool is_combining_mark(char32_t code);

/// Appends the folded form: lower case, base letter of Latin-1 and Latin Extended-A, name of Greek.
void append_folded(std::string& out, char32_t code);

/// The longest prefix of `text` of at most `limit` bytes that ends at a code point's end.
std::string_view utf8_prefix(std::string_view text, std::size_t limit);

}  // namespace ditar::knowledge
