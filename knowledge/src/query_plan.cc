#include "query_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ditar::knowledge {
namespace {

constexpr double kExactBonus = 0.5;
constexpr double kPartWeight = 0.5;
constexpr double kCommonWeight = 0.25;
constexpr double kNumberWeight = 0.5;
constexpr double kCorrectedTrust = 0.75;
constexpr double kUntranslatedWeight = 0.35;  // a Spanish word that the glossary lacks
constexpr std::size_t kSpanishCorrected = 7;  // the dictionary is English: short words go astray

bool is_number(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

double inverse_frequency(double documents, double frequency) {
  return std::log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5));
}

void add_word(std::vector<std::string>& terms, const std::string& word,
              const Thesaurus& thesaurus) {
  terms.push_back(word);
  terms.push_back("Z" + thesaurus.stem_english(word));
  terms.push_back("Y" + thesaurus.stem_spanish(word));
}

// "paralel" is a stem of Spanish, and in an English text an error.
bool knows_a_form(const std::string& word, const Thesaurus& thesaurus, const Speller& speller,
                  bool spanish) {
  return speller.knows(word) || speller.knows("Z" + thesaurus.stem_english(word)) ||
         (spanish && speller.knows("Y" + thesaurus.stem_spanish(word)));
}

/// Two known words written as one: "microbatch".
std::vector<std::string> compound_parts(const std::string& word, const Thesaurus& thesaurus,
                                        const Speller& speller, bool spanish) {
  constexpr std::size_t kLeast = 4;
  for (std::size_t at = kLeast; at + kLeast <= word.size(); ++at) {
    std::string first = word.substr(0, at), second = word.substr(at);
    if (knows_a_form(first, thesaurus, speller, spanish) &&
        knows_a_form(second, thesaurus, speller, spanish)) {
      return {std::move(first), std::move(second)};
    }
  }
  return {};
}

// Replaces unknown words by known ones and says so.
void correct_tokens(std::vector<Token>& tokens, const Thesaurus& thesaurus, const Speller& speller,
                    const CommonWords& common, QueryPlan& plan) {
  for (Token& token : tokens) {
    if (is_stopword(token.whole) || speller.knows(token.whole)) continue;
    if (common.contains(token.whole, thesaurus)) continue;
    if (knows_a_form(token.whole, thesaurus, speller, plan.spanish)) continue;
    bool parts_known = !token.parts.empty();
    for (const std::string& part : token.parts) parts_known = parts_known && speller.knows(part);
    if (parts_known) continue;
    if (token.parts.empty())
      token.parts = compound_parts(token.whole, thesaurus, speller, plan.spanish);
    if (!token.parts.empty()) continue;
    if (plan.spanish && token.whole.size() < kSpanishCorrected) continue;
    if (const auto better = speller.correct(token.whole)) {
      plan.corrections.push_back(token.whole + " -> " + *better);
      token.whole = *better;
      token.parts.clear();
      token.corrected = true;
    }
  }
}

Segment word_segment(const Token& token, const Thesaurus& thesaurus, const CommonWords& common) {
  Segment segment;
  segment.text = token.whole;
  if (is_number(token.whole)) {
    segment.weight = kNumberWeight;
  } else if (common.contains(token.whole, thesaurus)) {
    segment.weight = kCommonWeight;
  }
  add_word(segment.alternatives, token.whole, thesaurus);
  segment.exact.push_back(token.whole);
  std::vector<Token> parts;
  for (const std::string& part : token.parts) {
    if (!is_stopword(part) && part.size() > 1) add_word(segment.partial, part, thesaurus);
    parts.push_back({part, {}, 0, 0});
  }
  // An identifier that nobody wrote down may name a concept inside: cudaGraphExecUpdate.
  for (const ConceptMatch& match : thesaurus.match(parts)) {
    if (match.count < 2) continue;
    segment.alternatives.push_back("C" + std::to_string(match.concept_id));
  }
  return segment;
}

Segment phrase_segment(const std::vector<Token>& tokens, std::size_t first, std::size_t count,
                       const Thesaurus& thesaurus) {
  Segment segment;
  for (std::size_t i = first; i < first + count; ++i) {
    if (is_connector(tokens[i].whole)) continue;
    if (!segment.text.empty()) segment.text += ' ';
    segment.text += tokens[i].whole;
    if (is_stopword(tokens[i].whole)) continue;
    if (count == 1) {
      add_word(segment.alternatives, tokens[i].whole, thesaurus);
    } else {
      add_word(segment.partial, tokens[i].whole, thesaurus);
    }
    segment.exact.push_back(tokens[i].whole);
  }
  return segment;
}

}  // namespace

QueryPlan plan_query(std::string_view text, const Thesaurus& thesaurus, const Speller& speller,
                     const CommonWords& common) {
  QueryPlan plan;
  std::vector<Token> tokens = tokenize(text.substr(0, 4096));
  plan.spanish = reads_spanish(tokens);
  correct_tokens(tokens, thesaurus, speller, common, plan);
  const auto matches = thesaurus.match(tokens);
  std::set<std::string> seen;
  std::size_t next_match = 0;
  for (std::size_t i = 0; i < tokens.size();) {
    Segment segment;
    std::size_t used = 1;
    while (next_match < matches.size() && matches[next_match].first < i) ++next_match;
    if (next_match < matches.size() && matches[next_match].first == i) {
      used = matches[next_match].count;
      segment = phrase_segment(tokens, i, used, thesaurus);
      for (; next_match < matches.size() && matches[next_match].first == i; ++next_match) {
        segment.alternatives.push_back("C" + std::to_string(matches[next_match].concept_id));
        plan.concepts.push_back(matches[next_match].concept_id);
      }
    } else if (!is_stopword(tokens[i].whole) && tokens[i].whole.size() > 1) {
      segment = word_segment(tokens[i], thesaurus, common);
    }
    auto& stems = plan.stems.emplace_back();
    for (std::size_t k = i; k < i + used; ++k) {
      if (!is_connector(tokens[k].whole)) {
        stems.push_back(thesaurus.stem_english(tokens[k].whole));
      }
    }
    if (tokens[i].corrected) segment.trust = kCorrectedTrust;
    i += used;
    if (segment.text.empty() || !seen.insert(segment.text).second) continue;
    if (plan.segments.size() < 48) plan.segments.push_back(std::move(segment));
  }
  return plan;
}

void weigh(QueryPlan& plan, const Xapian::Database& passages) {
  const double documents = std::max<double>(1.0, passages.get_doccount());
  for (Segment& segment : plan.segments) {
    double frequency = 0.0;
    for (const std::string& term : segment.alternatives) {
      frequency = std::max<double>(frequency, passages.get_termfreq(term));
    }
    segment.known = frequency > 0.0;
    if (!segment.known && !segment.partial.empty()) {
      // An unseen compound is as informative as its rarest known part.
      double rarest = documents;
      for (const std::string& term : segment.partial) {
        const double count = passages.get_termfreq(term);
        if (count > 0.0) rarest = std::min(rarest, count);
        segment.known = segment.known || count > 0.0;
      }
      for (std::size_t i = 0; i + 2 < segment.partial.size(); i += 3) {
        const double count = std::max<double>(passages.get_termfreq(segment.partial[i]),
                                              passages.get_termfreq(segment.partial[i + 1]));
        segment.part_idf.push_back(count > 0.0 ? inverse_frequency(documents, count) : 0.0);
      }
      frequency = segment.known ? rarest : 0.0;
    }
    if (plan.spanish && !segment.known && segment.weight == 1.0) {
      segment.weight = kUntranslatedWeight;
    }
    segment.idf = segment.weight * inverse_frequency(documents, frequency);
  }
}

Xapian::Query to_xapian(const QueryPlan& plan) {
  std::vector<Xapian::Query> all;
  for (const Segment& segment : plan.segments) {
    const Xapian::Query any(Xapian::Query::OP_SYNONYM, segment.alternatives.begin(),
                            segment.alternatives.end());
    all.emplace_back(Xapian::Query::OP_SCALE_WEIGHT, any, segment.weight);
    const Xapian::Query exact(Xapian::Query::OP_OR, segment.exact.begin(), segment.exact.end());
    all.emplace_back(Xapian::Query::OP_SCALE_WEIGHT, exact,
                     segment.weight * kExactBonus / static_cast<double>(segment.exact.size()));
    for (std::size_t i = 0; i + 2 < segment.partial.size(); i += 3) {
      const Xapian::Query part(Xapian::Query::OP_SYNONYM,
                               segment.partial.begin() + static_cast<std::ptrdiff_t>(i),
                               segment.partial.begin() + static_cast<std::ptrdiff_t>(i) + 3);
      all.emplace_back(Xapian::Query::OP_SCALE_WEIGHT, part, kPartWeight);
    }
  }
  return {Xapian::Query::OP_OR, all.begin(), all.end()};
}

}  // namespace ditar::knowledge
