// Commit-reveal of an attempt's secret seed: its hash is in the ledger before anything runs, seed
// and salt follow with the verdict, and `verify` compares them. So nobody can say that coins,
// inputs or labels were picked once the times were known, and no candidate can read them before its
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ditar {

struct SealedSeed {
  std::uint64_t seed = 0;
  std::string salt;  ///< 32 hex digits; makes the hash of 64 bits unguessable
};

/// Draws seed and salt. @param secret 64 unpredictable bits a call
SealedSeed draw_sealed_seed(const std::function<std::uint64_t()>& secret);

/// SHA-256 of "dit-ar seed <id> <seed in hex> <salt>".
std::string seed_commitment(const std::string& id, const SealedSeed& sealed);

/// 16 hex digits and back. @throws DataError for anything else.
std::string hex_text(std::uint64_t bits);
std::uint64_t hex_bits(const std::string& text);

}  // namespace ditar
