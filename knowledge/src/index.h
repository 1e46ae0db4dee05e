// The two Xapian databases behind a Search: passages and whole pages, built from the handbook or
// opened from the cache. Private to ditar::knowledge. One thread at a time.
#pragma once

#include "ditar/knowledge/search.h"
#include "markdown.h"
#include "thesaurus.h"
#include "tokenizer.h"

#include <xapian.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

/// A document's stored fields.
struct StoredPassage {
  std::string path;
  std::string title;
  std::string heading;
  int line = 0;
  std::string text;
};
std::string pack(const StoredPassage& passage);
StoredPassage unpack(std::string_view data);

/// The glossary translates queries; as a passage it only lists words, so it ranks low and supports
/// nothing.
inline constexpr std::string_view kGlossaryPage = "glossary_english_spanish.md";

/// Prefixes of further terms in the database of pages: of a page's title, and of its summary, which
/// is the title, what stands before the first section, and the symptoms.
inline constexpr std::string_view kTitlePrefix = "T";
inline constexpr std::string_view kSummaryPrefix = "H";

struct HandbookFiles {
  struct Page {
    std::string path;
    std::string text;
  };
  std::vector<Page> pages;  ///< sorted by path
  std::string synonyms;     ///< <handbook>/../synonyms.txt, or empty
  std::string common;       ///< <handbook>/../common_words.txt, or empty
  std::string glossary;     ///< the page whose name ends in "glossary_english_spanish.md", or empty
  std::string stamp;        ///< SHA-256 over all of it and the tokeniser's version
};
/// @throws Unavailable if there is no page, IoError if one cannot be read.
HandbookFiles read_handbook(const std::filesystem::path& handbook_dir);

/// Adds the words, stems, parts and concepts of `text` to `document`, each counted `boost` times.
void add_terms(Xapian::Document& document, std::string_view text, Xapian::termcount boost,
               const Thesaurus& thesaurus);

struct Databases {
  Xapian::Database passages;
  Xapian::Database pages;
  bool from_cache = false;
};
/// Opens the cache whose stamp fits or builds; falls back to memory where the cache cannot serve.
Databases open_index(const HandbookFiles& files, const std::filesystem::path& cache_dir,
                     const Thesaurus& thesaurus);

}  // namespace ditar::knowledge
