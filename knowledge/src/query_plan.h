// Turns a free text into what is searched for: a list of segments, each a word or a phrase of the
// field with its alternatives. Private to ditar::knowledge.
#pragma once

#include "common_words.h"
#include "spelling.h"
#include "thesaurus.h"

#include <xapian.h>

#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

struct Segment {
  std::string text;                       ///< as the user wrote it (or the corrected word)
  std::vector<std::string> alternatives;  ///< index terms, any of which is this segment
  std::vector<std::string> exact;         ///< whole words: an extra when they are met literally
  std::vector<std::string> partial;       ///< parts of an identifier: weaker evidence
  std::vector<double> part_idf;           ///< of each part, 0 if not in the index; set by weigh()
  double idf = 0.0;                       ///< informativeness; set by weigh()
  bool known = false;                     ///< whether any alternative is in the index
  double trust = 1.0;                     ///< below 1 for words that the user wrote otherwise
  double weight = 1.0;                    ///< below 1 for words that say little
};

struct QueryPlan {
  std::vector<Segment> segments;
  bool spanish = false;       ///< whether the text reads as Spanish
  std::vector<int> concepts;  ///< concepts met anywhere in the text
  /// English stems of each segment in order, for override phrases: a phrase starts and ends at a
  /// segment's edge, so that "wave quantization" does not read as quantization.
  std::vector<std::vector<std::string>> stems;
  std::vector<std::string> corrections;  ///< "wrong -> right"
};

QueryPlan plan_query(std::string_view text, const Thesaurus& thesaurus, const Speller& speller,
                     const CommonWords& common);

/// Sets known and idf (scaled by weight) of every segment from document frequencies.
void weigh(QueryPlan& plan, const Xapian::Database& passages);

/// The disjunction of all segments; alternatives of one segment count as one term.
Xapian::Query to_xapian(const QueryPlan& plan);

}  // namespace ditar::knowledge
