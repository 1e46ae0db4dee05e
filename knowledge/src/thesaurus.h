// Concepts of the field: groups of phrases that mean the same, English and Spanish. Text and
// queries are tagged with the concepts whose phrases they hold, so that "memoria de vídeo" meets
// "VRAM". Immutable after construction; one thread at a time (stemmers keep a buffer).
#pragma once

#include "tokenizer.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

/// A phrase found: tokens [first, first + count) of the token list, and its concept.
struct ConceptMatch {
  std::size_t first = 0;
  std::size_t count = 0;
  int concept_id = 0;
};

class Thesaurus {
 public:
  /// @param synonyms  lines of comma-separated phrases; '#' starts a comment
  /// @param glossary  a Markdown page with rows "| English, ... | Spanish, ... | ... |"
  /// Groups that share a phrase are one concept.
  Thesaurus(std::string_view synonyms, std::string_view glossary);
  ~Thesaurus();
  Thesaurus(Thesaurus&&) noexcept;
  Thesaurus& operator=(Thesaurus&&) noexcept;

  /// Longest phrases first, left to right; a phrase may skip function words. Overlaps only where
  /// one phrase belongs to several concepts.
  std::vector<ConceptMatch> match(const std::vector<Token>& tokens) const;

  std::string stem_english(std::string_view word) const;
  std::string stem_spanish(std::string_view word) const;

  /// Every word of every phrase, folded: the spelling dictionary's share.
  const std::vector<std::string>& words() const noexcept;
  std::size_t concept_count() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ditar::knowledge
