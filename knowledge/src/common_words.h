// Words of everyday language: a query may hold them, but they say little of what it is about.
// Immutable after construction; thread-safe.
#pragma once

#include "thesaurus.h"

#include <set>
#include <string>
#include <string_view>

namespace ditar::knowledge {

class CommonWords {
 public:
  /// @param text  words between white space; a word that ends in ':' names the language of those
  /// after it ("english:" or "spanish:"); '#' starts a comment
  CommonWords(std::string_view text, const Thesaurus& thesaurus);

  /// Whether any inflection of the folded word is listed.
  bool contains(std::string_view folded, const Thesaurus& thesaurus) const;

 private:
  std::set<std::string, std::less<>> english_, spanish_;  ///< stems
};

}  // namespace ditar::knowledge
