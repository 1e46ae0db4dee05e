// Splits text of any language into words, keeping identifiers whole and in parts: cudaGraphLaunch
// gives "cudagraphlaunch" and cuda, graph, launch. Letters are folded to lower case without Latin
// accents. Stateless; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

/// Raise when words, parts or folding change: caches built by another version are not used.
inline constexpr int kTokenizerVersion = 6;

struct Token {
  std::string whole;               ///< folded, underscores kept inside
  std::vector<std::string> parts;  ///< folded sub-words; empty where the word has no inner boundary
  std::size_t begin = 0;           ///< byte range in the text
  std::size_t end = 0;
  bool corrected = false;  ///< the user wrote something else; set by the query's plan
};

/// Words of `text` in order. Invalid UTF-8 and every other sign separates words.
std::vector<Token> tokenize(std::string_view text);

/// Lower case, Latin accents removed, Greek letters named ("σ0" becomes "sigma0").
std::string fold(std::string_view text);

/// Whether a folded word carries no meaning of its own (English and Spanish function words).
bool is_stopword(std::string_view folded);

/// Whether the words read as Spanish: two function words that only Spanish has.
bool reads_spanish(const std::vector<Token>& tokens);

/// The few of them that a phrase may hold or lack without change of meaning (of, the, de, la).
/// "out of memory" keeps its "out".
bool is_connector(std::string_view folded);

}  // namespace ditar::knowledge
