#include "experiment/sealed_seed.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"

#include <charconv>

namespace ditar {

std::string hex_text(std::uint64_t bits) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; bits >>= 4) text[i] = "0123456789abcdef"[bits & 15U];
  return text;
}

std::uint64_t hex_bits(const std::string& text) {
  std::uint64_t bits = 0;
  const char* last = text.data() + text.size();
  const auto [end, fault] = std::from_chars(text.data(), last, bits, 16);
  if (text.size() != 16 || fault != std::errc{} || end != last) {
    throw DataError("'" + text + "' is no seed of 16 hex digits");
  }
  return bits;
}

SealedSeed draw_sealed_seed(const std::function<std::uint64_t()>& secret) {
  SealedSeed sealed;
  sealed.seed = secret();
  sealed.salt = hex_text(secret());
  sealed.salt += hex_text(secret());
  return sealed;
}

std::string seed_commitment(const std::string& id, const SealedSeed& sealed) {
  return sha256_hex("dit-ar seed " + id + " " + hex_text(sealed.seed) + " " + sealed.salt);
}

}  // namespace ditar
