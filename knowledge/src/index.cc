#include "index.h"

#include "ditar/config/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ditar::knowledge {
namespace {

constexpr char kFieldSeparator = '\x1f';
constexpr std::string_view kStampKey = "ditar-stamp";
constexpr Xapian::termcount kHeadingBoost = 2;
constexpr Xapian::termcount kTitleBoost = 1;
constexpr Xapian::termcount kTitleOfPageBoost = 15;
constexpr Xapian::termcount kAskedBoost = 4;

// Commands shown are no advice: their fixed words and their search texts are not indexed.
std::string without_commands(std::string text) {
  constexpr std::string_view kPrefix = "dit-ar --config config/autoresearch.json";
  for (auto at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix, at)) {
    std::size_t end = at + kPrefix.size();
    if (text.compare(end, 9, " search \"") == 0) {
      const auto quote = text.find('"', end + 9);
      if (quote != std::string::npos) end = quote;
    }
    text.erase(at, end - at);
  }
  return text;
}

// What follows the colon in the lines of a kind: how people ask for a page, what they see.
std::string marked_lines(std::string_view text, bool (*is_marked)(std::string_view)) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (is_marked(line)) out.append(line.substr(line.find(':') + 1)).push_back('\n');
    at = end + 1;
  }
  return out;
}

void add_prefixed(Xapian::Document& page, std::string_view prefix, const Xapian::Document& part) {
  for (auto term = part.termlist_begin(); term != part.termlist_end(); ++term) {
    page.add_boolean_term(std::string(prefix) + *term);
  }
}

// A few dense lines tell what a page is about better than its body, which mentions much in passing.
void add_summary(Xapian::Document& page, const std::string& title,
                 const std::vector<Passage>& passages, const Thesaurus& thesaurus) {
  Xapian::Document summary;
  add_terms(summary, title, 1, thesaurus);
  add_prefixed(page, kTitlePrefix, summary);
  for (const Passage& passage : passages) {
    add_terms(summary,
              passage.heading == passage.title ? passage.text
                                               : marked_lines(passage.text, is_symptom_line),
              1, thesaurus);
  }
  add_prefixed(page, kSummaryPrefix, summary);
}

Xapian::Document passage_document(const std::string& path, const Passage& passage,
                                  const Thesaurus& thesaurus) {
  Xapian::Document document;
  document.set_data(pack({path, passage.title, passage.heading, passage.line, passage.text}));
  document.add_value(0, path);
  add_terms(document, without_commands(passage.text), 1, thesaurus);
  add_terms(document, passage.overrides, 1, thesaurus);
  if (passage.heading != passage.title) {
    add_terms(document, passage.heading, kHeadingBoost, thesaurus);
  }
  add_terms(document, passage.title, kTitleBoost, thesaurus);
  return document;
}

void fill(Xapian::WritableDatabase& passages, Xapian::WritableDatabase& pages,
          const HandbookFiles& files, const Thesaurus& thesaurus) {
  for (const auto& page : files.pages) {
    if (page.path == "README.md") continue;  // a list of links supports nothing
    Xapian::Document whole;
    whole.add_value(0, page.path);
    std::string title;
    const std::vector<Passage> parts = split_page(page.text);
    for (const Passage& passage : parts) {
      passages.add_document(passage_document(page.path, passage, thesaurus));
      add_terms(whole, passage.heading, kTitleBoost, thesaurus);
      add_terms(whole, without_commands(passage.text), 1, thesaurus);
      add_terms(whole, marked_lines(passage.text, is_asked_line), kAskedBoost, thesaurus);
      title = passage.title;
    }
    add_terms(whole, title, kTitleOfPageBoost, thesaurus);
    add_summary(whole, title, parts, thesaurus);
    pages.add_document(whole);
  }
}

std::filesystem::path cache_path(const std::filesystem::path& cache_dir, std::string_view stamp) {
  return cache_dir / ("handbook-" + std::string(stamp.substr(0, 16)));
}

bool open_cached(const std::filesystem::path& dir, const std::string& stamp, Databases& out) {
  if (!std::filesystem::exists(dir)) return false;
  try {
    out.passages = Xapian::Database((dir / "passages").string());
    out.pages = Xapian::Database((dir / "pages").string());
    return out.pages.get_metadata(std::string(kStampKey)) == stamp &&
           out.passages.get_metadata(std::string(kStampKey)) == stamp;
  } catch (const Xapian::Error&) {
    return false;  // damaged: built anew
  }
}

void remove_other_caches(const std::filesystem::path& cache_dir,
                         const std::filesystem::path& keep) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(cache_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("handbook-") && name.find(".tmp") == std::string::npos &&
        entry.path() != keep) {
      std::filesystem::remove_all(entry.path(), error);
    }
  }
}

// Written beside and renamed, so that a killed run leaves no half index under the final name.
bool build_cached(const HandbookFiles& files, const std::filesystem::path& cache_dir,
                  const Thesaurus& thesaurus) {
  const auto target = cache_path(cache_dir, files.stamp);
  const auto scratch = target.string() + ".tmp" + std::to_string(::getpid());
  std::error_code error;
  try {
    std::filesystem::create_directories(scratch);
    {
      const int flags = Xapian::DB_CREATE_OR_OVERWRITE | Xapian::DB_NO_SYNC;
      Xapian::WritableDatabase passages(scratch + "/passages", flags);
      Xapian::WritableDatabase pages(scratch + "/pages", flags);
      fill(passages, pages, files, thesaurus);
      passages.set_metadata(std::string(kStampKey), files.stamp);
      pages.set_metadata(std::string(kStampKey), files.stamp);
      passages.commit();
      pages.commit();
    }
    std::filesystem::remove_all(target, error);
    std::filesystem::rename(scratch, target);
    remove_other_caches(cache_dir, target);
    return true;
  } catch (const std::exception& fault) {
    log_debug(std::string("handbook index not cached: ") + fault.what());
  } catch (const Xapian::Error& fault) {
    log_debug("handbook index not cached: " + fault.get_msg());
  }
  std::filesystem::remove_all(scratch, error);
  return false;
}

}  // namespace

std::string pack(const StoredPassage& passage) {
  std::string out;
  for (const std::string& field :
       {passage.path, passage.title, passage.heading, std::to_string(passage.line), passage.text}) {
    out += field;
    out += kFieldSeparator;
  }
  return out;
}

StoredPassage unpack(std::string_view data) {
  std::array<std::string, 5> fields;
  for (std::string& field : fields) {
    const auto end = data.find(kFieldSeparator);
    field = data.substr(0, end);
    data = end == std::string_view::npos ? std::string_view{} : data.substr(end + 1);
  }
  StoredPassage passage{fields[0], fields[1], fields[2], 0, fields[4]};
  std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), passage.line);
  return passage;
}

void add_terms(Xapian::Document& document, std::string_view text, Xapian::termcount boost,
               const Thesaurus& thesaurus) {
  const std::vector<Token> tokens = tokenize(text);
  const auto add_word = [&](const std::string& word) {
    document.add_term(word, boost);
    document.add_term("Z" + thesaurus.stem_english(word), boost);
    document.add_term("Y" + thesaurus.stem_spanish(word), boost);
  };
  for (const Token& token : tokens) {
    if (is_stopword(token.whole)) continue;
    add_word(token.whole);
    for (const std::string& part : token.parts) {
      if (!is_stopword(part)) add_word(part);
    }
  }
  for (const ConceptMatch& match : thesaurus.match(tokens)) {
    document.add_term("C" + std::to_string(match.concept_id), boost);
  }
}

Databases open_index(const HandbookFiles& files, const std::filesystem::path& cache_dir,
                     const Thesaurus& thesaurus) {
  Databases out;
  if (!cache_dir.empty()) {
    const auto target = cache_path(cache_dir, files.stamp);
    if (open_cached(target, files.stamp, out)) {
      out.from_cache = true;
      return out;
    }
    if (build_cached(files, cache_dir, thesaurus) && open_cached(target, files.stamp, out)) {
      return out;
    }
  }
  Xapian::WritableDatabase passages(std::string(), Xapian::DB_BACKEND_INMEMORY);
  Xapian::WritableDatabase pages(std::string(), Xapian::DB_BACKEND_INMEMORY);
  fill(passages, pages, files, thesaurus);
  out.passages = passages;
  out.pages = pages;
  return out;
}

}  // namespace ditar::knowledge
