#include "query_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ditar::knowledge {
namespace {

constexpr double kExactBonus = 0.35;
constexpr double kPartWeight = 0.45;

void add_word(std::vector<std::string>& terms, const std::string& word,
              const Thesaurus& thesaurus) {
  terms.push_back(word);
  terms.push_back("Z" + thesaurus.stem_english(word));
  terms.push_back("Y" + thesaurus.stem_spanish(word));
}

// Replaces unknown words by known ones and says so.
void correct_tokens(std::vector<Token>& tokens, const Thesaurus& thesaurus, const Speller& speller,
                    QueryPlan& plan) {
  for (Token& token : tokens) {
    if (is_stopword(token.whole) || speller.knows(token.whole)) continue;
    if (speller.knows("Z" + thesaurus.stem_english(token.whole)) ||
        speller.knows("Y" + thesaurus.stem_spanish(token.whole))) {
      continue;  // another form of a known word
    }
    bool parts_known = !token.parts.empty();
    for (const std::string& part : token.parts) parts_known = parts_known && speller.knows(part);
    if (parts_known) continue;
    if (const auto better = speller.correct(token.whole)) {
      plan.corrections.push_back(token.whole + " -> " + *better);
      token.whole = *better;
      token.parts.clear();
    }
  }
}

Segment word_segment(const Token& token, const Thesaurus& thesaurus) {
  Segment segment;
  segment.text = token.whole;
  add_word(segment.alternatives, token.whole, thesaurus);
  segment.exact.push_back(token.whole);
  for (const std::string& part : token.parts) {
    if (!is_stopword(part) && part.size() > 1) add_word(segment.partial, part, thesaurus);
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

QueryPlan plan_query(std::string_view text, const Thesaurus& thesaurus, const Speller& speller) {
  QueryPlan plan;
  std::vector<Token> tokens = tokenize(text.substr(0, 4096));
  correct_tokens(tokens, thesaurus, speller, plan);
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
      segment = word_segment(tokens[i], thesaurus);
    }
    auto& stems = plan.stems.emplace_back();
    for (std::size_t k = i; k < i + used; ++k) {
      if (!is_connector(tokens[k].whole)) {
        stems.push_back(thesaurus.stem_english(tokens[k].whole));
      }
    }
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
      frequency = segment.known ? rarest : 0.0;
    }
    segment.idf = std::log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5));
  }
}

Xapian::Query to_xapian(const QueryPlan& plan) {
  std::vector<Xapian::Query> all;
  for (const Segment& segment : plan.segments) {
    all.emplace_back(Xapian::Query::OP_SYNONYM, segment.alternatives.begin(),
                     segment.alternatives.end());
    const Xapian::Query exact(Xapian::Query::OP_OR, segment.exact.begin(), segment.exact.end());
    all.emplace_back(Xapian::Query::OP_SCALE_WEIGHT, exact,
                     kExactBonus / static_cast<double>(segment.exact.size()));
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
