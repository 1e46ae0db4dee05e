// Search over the handbook and over past experiments, by passage (one Markdown heading each).
// A Search is immutable after add_experiments; query() may be called from several threads only with
// one Search per thread (Xapian databases are not shared). Owns its index; writes nothing outside
// `cache_dir`. No vendor type shows here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// What the ledger knows of one experiment, as an extra document of the index.
struct ExperimentNote {
  std::string id;                  ///< e.g. "e0007"; shown as the result's path "experiment:e0007"
  std::string commit;              ///< abbreviated or full object id
  std::string classification;      ///< exact, numerical, approximate, quantization
  std::string status;              ///< KEEP, DISCARD, CRASH, RETRY
  std::string description;         ///< the hypothesis as its author wrote it, any language
  std::string reason;              ///< why the verdict fell so
  std::vector<std::string> cites;  ///< handbook paths named by --cite
};

/// One passage found.
struct SearchResult {
  std::string
      path;  ///< relative to the handbook's folder ("03_single_gpu/01_...md"), or "experiment:<id>"
  std::string heading;  ///< the passage's heading; for an experiment "<status> <classification>"
  double score = 0.0;   ///< in (0, 1], comparable within one answer only
  std::string kind;     ///< "contract" (it overrides generic advice), "handbook" or "experiment"
  std::string snippet;  ///< at most 240 bytes of UTF-8 around the words found, one line
  int line = 0;         ///< 1-based line of the heading in the page; 0 for an experiment
};

/// The answer to one query.
struct SearchAnswer {
  bool support = false;  ///< whether the handbook supports the idea; experiments alone never do
  std::string label;     ///< "external/new hypothesis" where support is false, else empty
  std::string evidence;  ///< one sentence: which words of the query were found where, which nowhere
  std::vector<std::string> corrections;  ///< spelling corrections used, "atention -> attention"
  std::vector<SearchResult> results;     ///< best first; nearest passages even without support
};

/// The label an experiment carries when nothing in the handbook supports its idea.
inline constexpr std::string_view kUnsupportedLabel = "external/new hypothesis";

/// Paths, relative to the handbook's folder, of the six pages that must be read before a session;
/// the contract page is the first.
const std::vector<std::string>& required_handbook_pages();

/// Paths of all pages below `handbook_dir`, relative to it, in order; README.md is none. An empty
/// list if there is no such folder.
std::vector<std::string> handbook_pages(const std::filesystem::path& handbook_dir);

/// An index over the pages (*.md) below `handbook_dir`. The index is kept in `cache_dir` and built
/// anew when a page, the synonyms, the glossary or the tokeniser changes (SHA-256 stamp). Where
/// `cache_dir` is empty or cannot be written, the index lives in memory.
class Search {
 public:
  /// Blocks until the index is ready (reads every page).
  /// @throws Unavailable if `handbook_dir` holds no page; IoError if a page cannot be read.
  explicit Search(std::filesystem::path handbook_dir, std::filesystem::path cache_dir = {});
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Adds past experiments to this object only (never to the cache).
  void add_experiments(const std::vector<ExperimentNote>& notes);

  /// Ranks passages for `text`, which is taken as it is: no operator, quote or dash has a meaning.
  /// Any bytes are harmless; invalid UTF-8 separates words. @param limit results at most, >= 1.
  /// An empty text (no word in it) gives support == false and no result.
  /// @throws InvalidArgument if limit is 0.
  SearchAnswer query(std::string_view text, std::size_t limit = 8) const;

  /// Number of handbook passages, and whether the index came from the cache unchanged.
  std::size_t passage_count() const noexcept;
  bool from_cache() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ditar
