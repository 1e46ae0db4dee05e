#include "thesaurus.h"

#include <xapian.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace ditar::knowledge {
namespace {

enum class Language { kEnglish, kSpanish };

struct Phrase {
  std::string text;
  Language language;
};
using Group = std::vector<Phrase>;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r`*");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r`*") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> out;
  while (true) {
    const auto end = text.find(sign);
    out.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

void add_phrases(Group& group, std::string_view cell, Language language) {
  for (std::string_view phrase : split(cell, ',')) {
    if (!phrase.empty()) group.push_back({std::string(phrase), language});
  }
}

std::vector<Group> read_groups(std::string_view synonyms, std::string_view glossary) {
  std::vector<Group> groups;
  for (std::string_view line : split(synonyms, '\n')) {
    Group group;
    add_phrases(group, trim(line.substr(0, line.find('#'))), Language::kEnglish);
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  for (std::string_view line : split(glossary, '\n')) {
    const auto cells = split(line, '|');
    if (!line.starts_with("|") || cells.size() < 4 || cells[1].starts_with("--")) continue;
    Group group;
    add_phrases(group, cells[1], Language::kEnglish);
    add_phrases(group, cells[2], Language::kSpanish);
    if (group.size() > 1 && cells[1] != "English") groups.push_back(std::move(group));
  }
  return groups;
}

/// British endings written the American way, so that both have one stem: "utilisation",
/// "neighbour".
std::string one_spelling(std::string_view word) {
  constexpr std::size_t kShortest = 7;  // "noise" and "hour" stay
  std::string out(word);
  if (out.size() < kShortest) return out;
  if (const auto at = out.rfind("isation"); at != std::string::npos) out[at + 1] = 'z';
  for (const std::string_view ending : {"ise", "ised", "ises", "ising", "iser"}) {
    if (out.ends_with(ending)) out[out.size() - ending.size() + 1] = 'z';
  }
  for (const std::string_view ending : {"our", "ours", "oured", "ouring"}) {
    if (out.ends_with(ending)) out.erase(out.size() - ending.size() + 1, 1);
  }
  return out;
}

}  // namespace

class Thesaurus::Impl {
 public:
  Impl(std::string_view synonyms, std::string_view glossary) {
    const std::vector<Group> groups = read_groups(synonyms, glossary);
    parent_.resize(groups.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Phrase& phrase : groups[g]) add(phrase, static_cast<int>(g));
    }
    for (auto* table : {&english_, &spanish_}) {
      for (auto& [key, id] : *table) id = root(id);
    }
    std::set<std::string> unique(words_.begin(), words_.end());
    words_.assign(unique.begin(), unique.end());
  }

  std::vector<ConceptMatch> match(const std::vector<Token>& tokens) {
    std::vector<std::size_t> content;
    std::vector<std::string> english;
    std::vector<std::string> spanish;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (is_connector(tokens[i].whole)) continue;
      content.push_back(i);
      english.push_back(this->english(tokens[i].whole));
      spanish.push_back(stem(spanish_stemmer_, spanish_cache_, tokens[i].whole));
    }
    std::vector<ConceptMatch> found;
    std::size_t at = 0;
    while (at < content.size()) {
      std::size_t used = 1;
      // A function word alone is none: "para" is not "parado".
      const std::size_t least = is_stopword(tokens[content[at]].whole) ? 2 : 1;
      for (std::size_t n = std::min(longest_, content.size() - at); n >= least; --n) {
        if (look_up(english_, english, at, n, content, found) +
                look_up(spanish_, spanish, at, n, content, found) >
            0) {
          used = n;
          break;
        }
      }
      at += used;
    }
    return found;
  }

  std::string english(std::string_view word) {
    return stem(english_stemmer_, english_cache_, one_spelling(word));
  }
  std::string spanish(std::string_view word) {
    return stem(spanish_stemmer_, spanish_cache_, word);
  }

  std::vector<std::string> words_;
  std::size_t concepts_ = 0;

 private:
  using Table = std::unordered_map<std::string, int>;
  using Cache = std::unordered_map<std::string, std::string>;

  static std::string stem(Xapian::Stem& stemmer, Cache& cache, std::string_view word) {
    const auto [it, added] = cache.try_emplace(std::string(word));
    if (added) it->second = stemmer(it->first);
    return it->second;
  }

  int root(int id) {
    while (parent_[static_cast<std::size_t>(id)] != id) id = parent_[static_cast<std::size_t>(id)];
    return id;
  }

  void add(const Phrase& phrase, int group) {
    std::string key;
    std::size_t count = 0;
    const bool is_english = phrase.language == Language::kEnglish;
    for (const Token& token : tokenize(phrase.text)) {
      if (is_connector(token.whole)) continue;
      key += (is_english ? english(token.whole) : spanish(token.whole)) + ' ';
      ++count;
      words_.push_back(token.whole);
    }
    if (count == 0) return;
    longest_ = std::max(longest_, count);
    Table& table = is_english ? english_ : spanish_;
    const auto [it, added] = table.try_emplace(key, group);
    if (!added) parent_[static_cast<std::size_t>(root(group))] = root(it->second);
    concepts_ = parent_.size();
  }

  static std::size_t look_up(const Table& table, const std::vector<std::string>& stems,
                             std::size_t at, std::size_t count,
                             const std::vector<std::size_t>& content,
                             std::vector<ConceptMatch>& found) {
    std::string key;
    for (std::size_t i = at; i < at + count; ++i) key += stems[i] + ' ';
    const auto it = table.find(key);
    if (it == table.end()) return 0;
    const std::size_t first = content[at];
    const std::size_t length = content[at + count - 1] - first + 1;
    if (!found.empty() && found.back().first == first && found.back().concept_id == it->second) {
      return 1;
    }
    found.push_back({first, length, it->second});
    return 1;
  }

  Xapian::Stem english_stemmer_{"english"};
  Xapian::Stem spanish_stemmer_{"spanish"};
  Cache english_cache_;
  Cache spanish_cache_;
  std::vector<int> parent_;
  Table english_;
  Table spanish_;
  std::size_t longest_ = 1;
};

Thesaurus::Thesaurus(std::string_view synonyms, std::string_view glossary)
    : impl_(std::make_unique<Impl>(synonyms, glossary)) {}
Thesaurus::~Thesaurus() = default;
Thesaurus::Thesaurus(Thesaurus&&) noexcept = default;
Thesaurus& Thesaurus::operator=(Thesaurus&&) noexcept = default;

std::vector<ConceptMatch> Thesaurus::match(const std::vector<Token>& tokens) const {
  return impl_->match(tokens);
}
std::string Thesaurus::stem_english(std::string_view word) const { return impl_->english(word); }
std::string Thesaurus::stem_spanish(std::string_view word) const { return impl_->spanish(word); }
const std::vector<std::string>& Thesaurus::words() const noexcept { return impl_->words_; }
std::size_t Thesaurus::concept_count() const noexcept { return impl_->concepts_; }

}  // namespace ditar::knowledge
