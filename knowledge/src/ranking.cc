#include "ranking.h"

#include "utf8.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ditar::knowledge {
namespace {

constexpr std::size_t kCandidates = 60;
constexpr double kPassageShare = 0.4;
constexpr double kPageShare = 0.6;
constexpr double kSupportThreshold = 0.56;
constexpr double kPartsHit = 0.9;  // an identifier's parts, all found, against the whole
constexpr double kGlossaryFactor = 0.02;
constexpr double kSummaryWeight = 2.0;
constexpr double kTitleWeight = 0.5;
constexpr double kRepeatFactor = 0.1;  // each further passage of a page
constexpr std::size_t kSnippetBytes = 240;

bool is_experiment(const std::string& path) { return path.starts_with("experiment:"); }
bool says_much(const Segment& segment) { return segment.weight == 1.0; }
bool is_glossary(const std::string& path) { return path.ends_with(kGlossaryPage); }

/// How much of what an identifier's parts say is met: "nvrtc" says more than "compile". Parts that
/// the handbook never names are left out, as long as half of them are named.
template <typename Held>
double share_of_parts(const Segment& segment, const Held& held) {
  double met = 0.0, asked = 0.0;
  std::size_t known = 0;
  const std::size_t count = segment.partial.size() / 3;
  for (std::size_t i = 0; i < std::min(count, segment.part_idf.size()); ++i) {
    const double idf = segment.part_idf[i];
    asked += idf;
    known += idf > 0.0;
    if (held(segment.partial[3 * i]) || held(segment.partial[3 * i + 1])) met += idf;
  }
  if (known == 0) return 0.0;
  const std::size_t least = (count + 1) / 2;
  if (known < least) asked *= static_cast<double>(least) / static_cast<double>(known);
  return met / asked;
}

Xapian::Enquire make_enquire(const Xapian::Database& database, const QueryPlan& plan) {
  Xapian::Enquire enquire(database);
  enquire.set_weighting_scheme(Xapian::BM25Weight(2.2, 0.0, 1.0, 0.5, 0.5));
  enquire.set_query(to_xapian(plan));
  return enquire;
}

}  // namespace

std::vector<double> segment_hits(const QueryPlan& plan, const Xapian::Database& database,
                                 Xapian::docid document, std::string_view prefix) {
  std::set<std::string> asked;
  for (const Segment& segment : plan.segments) {
    asked.insert(segment.alternatives.begin(), segment.alternatives.end());
    asked.insert(segment.partial.begin(), segment.partial.end());
  }
  std::set<std::string> present;
  auto term = database.termlist_begin(document);
  const auto end = database.termlist_end(document);
  for (const std::string& wanted : asked) {
    const std::string full = std::string(prefix) + wanted;
    term.skip_to(full);
    if (term == end) break;
    if (*term == full) present.insert(wanted);
  }
  const auto held = [&](const std::string& name) { return present.contains(name); };
  std::vector<double> hits;
  for (const Segment& segment : plan.segments) {
    double hit = std::any_of(segment.alternatives.begin(), segment.alternatives.end(), held);
    if (hit == 0.0 && segment.partial.size() >= 3) {
      hit = kPartsHit * share_of_parts(segment, held);
    }
    hits.push_back(hit);
  }
  return hits;
}

double coverage_of(const QueryPlan& plan, const std::vector<double>& hits) {
  double all = 0.0;
  double got = 0.0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    all += plan.segments[i].idf;
    got += plan.segments[i].idf * plan.segments[i].trust * hits[i];
  }
  return all > 0.0 ? got / all : 0.0;
}

std::map<std::string, PageScore> score_pages(const QueryPlan& plan, const Xapian::Database& pages) {
  std::map<std::string, PageScore> out;
  Xapian::Enquire enquire = make_enquire(pages, plan);
  const Xapian::MSet matches = enquire.get_mset(0, pages.get_doccount());
  const double best = matches.empty() ? 1.0 : matches.get_max_attained();
  for (auto it = matches.begin(); it != matches.end(); ++it) {
    PageScore page;
    page.score = it.get_weight() / best;
    page.coverage = coverage_of(plan, segment_hits(plan, pages, *it));
    page.title = coverage_of(plan, segment_hits(plan, pages, *it, kTitlePrefix));
    page.summary = coverage_of(plan, segment_hits(plan, pages, *it, kSummaryPrefix));
    out[it.get_document().get_value(0)] = page;
  }
  return out;
}

std::vector<Candidate> rank_passages(const QueryPlan& plan, const Xapian::Database& passages,
                                     const std::map<std::string, PageScore>& pages) {
  std::vector<Candidate> all;
  Xapian::Enquire enquire = make_enquire(passages, plan);
  const Xapian::MSet matches = enquire.get_mset(0, kCandidates);
  const double best = matches.empty() ? 1.0 : matches.get_max_attained();
  for (auto it = matches.begin(); it != matches.end(); ++it) {
    Candidate candidate;
    candidate.passage = unpack(it.get_document().get_data());
    const std::vector<double> hits = segment_hits(plan, passages, *it);
    for (double hit : hits) candidate.found.push_back(hit > 0.0);
    candidate.coverage = coverage_of(plan, hits);
    const double own = it.get_weight() / best;
    const auto page = pages.find(candidate.passage.path);
    const double around = page != pages.end() ? page->second.score : own;
    candidate.score =
        (kPassageShare * own + kPageShare * around) * (0.15 + 0.85 * candidate.coverage);
    // An experiment is its own title and summary.
    const double title = page != pages.end() ? page->second.title : candidate.coverage;
    const double summary = page != pages.end() ? page->second.summary : candidate.coverage;
    candidate.score *= (1.0 + kTitleWeight * title) / (1.0 + kTitleWeight) *
                       (1.0 + kSummaryWeight * summary) / (1.0 + kSummaryWeight);
    if (is_glossary(candidate.passage.path)) candidate.score *= kGlossaryFactor;
    all.push_back(std::move(candidate));
  }
  const auto best_first = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
  std::stable_sort(all.begin(), all.end(), best_first);
  std::map<std::string, std::size_t> taken;
  for (Candidate& candidate : all) {
    const std::size_t earlier = taken[candidate.passage.path]++;
    candidate.score *= std::pow(kRepeatFactor, static_cast<double>(earlier));
  }
  std::stable_sort(all.begin(), all.end(), best_first);
  return all;
}

bool is_supported(const QueryPlan& plan, const std::vector<Candidate>& ranked,
                  const std::map<std::string, PageScore>& pages) {
  const auto informative = static_cast<std::size_t>(
      std::count_if(plan.segments.begin(), plan.segments.end(), says_much));
  if (informative == 0) return false;  // everyday words and numbers alone ask for nothing
  std::size_t looked = 0;
  for (const Candidate& candidate : ranked) {
    if (is_experiment(candidate.passage.path) || is_glossary(candidate.passage.path)) continue;
    std::size_t found = 0;
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
      found += says_much(plan.segments[i]) && candidate.found[i];
    }
    if (++looked == 9) break;
    // Where untranslated words count little, one word that is met is no subject.
    if (plan.spanish && found < std::min<std::size_t>(2, informative)) continue;
    const auto page = pages.find(candidate.passage.path);
    const double around = page != pages.end() ? page->second.coverage : 0.0;
    if (0.5 * candidate.coverage + 0.5 * around >= kSupportThreshold) return true;
  }
  return false;
}

std::string make_snippet(const std::string& text, const QueryPlan& plan,
                         const Thesaurus& thesaurus) {
  std::string best_line;
  double best = -1.0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.starts_with("|--") || line.starts_with("```")) continue;
    if (is_asked_line(line)) continue;  // words to be found by, not to be read
    Xapian::Document scratch;
    add_terms(scratch, line, 1, thesaurus);
    std::set<std::string> terms(scratch.termlist_begin(), scratch.termlist_end());
    double value = 0.0;
    for (const Segment& segment : plan.segments) {
      const bool held = std::any_of(segment.alternatives.begin(), segment.alternatives.end(),
                                    [&](const std::string& term) { return terms.contains(term); });
      if (held) value += segment.idf;
    }
    if (value > best) {
      best = value;
      best_line = line;
    }
  }
  const auto first = best_line.find_first_not_of(" -*|>#");
  if (first != std::string::npos) best_line.erase(0, first);
  for (auto at = best_line.find("**"); at != std::string::npos; at = best_line.find("**")) {
    best_line.erase(at, 2);
  }
  return std::string(utf8_prefix(best_line, kSnippetBytes));
}

}  // namespace ditar::knowledge
