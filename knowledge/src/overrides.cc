#include "overrides.h"

#include <algorithm>

namespace ditar::knowledge {
namespace {

std::vector<std::string> split_terms(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Whether consecutive whole segments spell the phrase.
bool holds(const std::vector<std::vector<std::string>>& segments,
           const std::vector<std::string>& phrase) {
  for (std::size_t first = 0; first < segments.size(); ++first) {
    std::size_t met = 0;
    for (std::size_t s = first; s < segments.size() && met < phrase.size(); ++s) {
      const auto& stems = segments[s];
      if (met + stems.size() > phrase.size() ||
          !std::equal(stems.begin(), stems.end(),
                      phrase.begin() + static_cast<std::ptrdiff_t>(met))) {
        break;
      }
      met += stems.size();
    }
    if (met == phrase.size()) return true;
  }
  return false;
}

}  // namespace

OverrideTable::OverrideTable(const HandbookFiles& files, const Thesaurus& thesaurus) {
  const std::string& contract = required_handbook_pages().front();
  for (const auto& page : files.pages) {
    if (page.path != contract) continue;
    for (const Passage& passage : split_page(page.text)) {
      if (passage.overrides.empty()) continue;
      Rule rule;
      rule.passage = {page.path, passage.title, passage.heading, passage.line, passage.text};
      for (const std::string& term : split_terms(passage.overrides)) {
        const auto tokens = tokenize(term);
        std::vector<std::string> phrase;
        for (const Token& token : tokens) {
          if (!is_connector(token.whole)) phrase.push_back(thesaurus.stem_english(token.whole));
        }
        if (!phrase.empty()) rule.phrases.push_back(std::move(phrase));
        for (const ConceptMatch& match : thesaurus.match(tokens)) {
          if (match.count == tokens.size()) rule.concepts.insert(match.concept_id);
        }
      }
      rules_.push_back(std::move(rule));
    }
  }
}

std::optional<StoredPassage> OverrideTable::find(const QueryPlan& plan) const {
  const Rule* best = nullptr;
  std::size_t best_met = 0;
  for (const Rule& rule : rules_) {
    std::size_t met = 0;
    for (const auto& phrase : rule.phrases) met += holds(plan.stems, phrase) ? phrase.size() : 0;
    for (int id : plan.concepts) met += rule.concepts.contains(id) ? 1U : 0U;
    if (met > best_met) {
      best = &rule;
      best_met = met;
    }
  }
  return best ? std::optional(best->passage) : std::nullopt;
}

}  // namespace ditar::knowledge
