#include "utf8.h"

#include <array>

namespace ditar::knowledge {
namespace {

void append_code_point(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

// Base letters of U+00C0..U+017F, in code order; '*' marks signs that are no letter.
constexpr std::string_view kLatinBase =
    "aaaaaaaceeeeiiiidnooooo*ouuuuypsaaaaaaaceeeeiiiidnooooo*ouuuuypy"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
    "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

constexpr std::array<std::string_view, 25> kGreek = {
    "alpha", "beta",   "gamma",   "delta", "epsilon", "zeta",    "eta",  "theta", "iota",
    "kappa", "lambda", "mu",      "nu",    "xi",      "omicron", "pi",   "rho",   "sigma",
    "sigma", "tau",    "upsilon", "phi",   "chi",     "psi",     "omega"};

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const std::size_t length = first >= 0xF0 && first < 0xF5   ? 4
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xC2 && first < 0xE0 ? 2
                                                             : 0;
  if (length == 0 || at + length > text.size()) {
    ++at;
    return kInvalidCode;
  }
  char32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) {
      ++at;
      return kInvalidCode;
    }
    code = (code << 6) | (byte(at + i) & 0x3F);
  }
  at += length;
  return code;
}

bool is_letter(char32_t code) {
  if (code == kInvalidCode) return false;
  if (code < 0x80) return (code >= U'a' && code <= U'z') || (code >= U'A' && code <= U'Z');
  if (code == 0xB5) return true;  // micro sign
  if (code < 0xC0 || code == 0xD7 || code == 0xF7) return false;
  if (code >= 0x2000 && code <= 0x2BFF) return false;  // punctuation, arrows, operators
  if (code >= 0x1D2C && code <= 0x1D6A) return false;  // raised letters, as in QK^T
  if (code >= 0x3000 && code <= 0x303F) return false;
  if (code >= 0xFF00 && code <= 0xFF20) return false;
  return !is_combining_mark(code);
}

bool is_upper(char32_t code) {
  if (code < 0x80) return code >= U'A' && code <= U'Z';
  if (code >= 0xC0 && code <= 0xDE) return code != 0xD7;
  if (code >= 0x100 && code <= 0x137) return code % 2 == 0;
  if (code >= 0x391 && code <= 0x3A9) return true;
  return false;
}

bool is_combining_mark(char32_t code) { return code >= 0x300 && code <= 0x36F; }

void append_folded(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code >= U'A' && code <= U'Z' ? code + 32 : code));
  } else if (code >= 0xC0 && code < 0xC0 + kLatinBase.size() && kLatinBase[code - 0xC0] != '*') {
    out.push_back(kLatinBase[code - 0xC0]);
  } else if (code == 0xB5) {
    out += "mu";
  } else if (code >= 0x391 && code <= 0x3A9) {
    out += kGreek[code - 0x391];
  } else if (code >= 0x3B1 && code <= 0x3C9) {
    out += kGreek[code - 0x3B1];
  } else {
    append_code_point(out, code);
  }
}

std::string_view utf8_prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace ditar::knowledge
