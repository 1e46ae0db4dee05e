#include "ditar/knowledge/search.h"

#include "ditar/config/error.h"
#include "index.h"
#include "overrides.h"
#include "query_plan.h"
#include "ranking.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ditar {

using knowledge::Candidate;
using knowledge::QueryPlan;
using knowledge::StoredPassage;

namespace {

constexpr std::string_view kExperimentPrefix = "experiment:";

knowledge::Speller make_speller(const Xapian::Database& passages,
                                const knowledge::Thesaurus& thesaurus) {
  std::map<std::string, std::size_t> words;
  for (auto term = passages.allterms_begin(); term != passages.allterms_end(); ++term) {
    const std::string& word = *term;
    if (word.empty() || word[0] == 'C') continue;  // stems stay: they tell known words
    words[word] = term.get_termfreq();
  }
  for (const std::string& word : thesaurus.words()) words.try_emplace(word, 1);
  return knowledge::Speller(std::move(words));
}

std::string join_quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ", ";
    out += '"' + word + '"';
  }
  return out;
}

std::string describe_evidence(const QueryPlan& plan, const std::vector<Candidate>& ranked) {
  if (plan.segments.empty()) return "the query holds no word to search for";
  std::vector<std::string> found;
  std::vector<std::string> elsewhere;
  std::vector<std::string> nowhere;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const bool here = !ranked.empty() && ranked.front().found[i];
    const auto& text = plan.segments[i].text;
    (here ? found : plan.segments[i].known ? elsewhere : nowhere).push_back(text);
  }
  std::string out;
  if (!found.empty()) {
    out = ranked.front().passage.path + " speaks of " + join_quoted(found);
  }
  if (!elsewhere.empty()) {
    out +=
        (out.empty() ? "" : "; ") + std::string("only other passages of ") + join_quoted(elsewhere);
  }
  if (!nowhere.empty()) {
    out += (out.empty() ? "" : "; ") + std::string("no passage of ") + join_quoted(nowhere);
  }
  return out;
}

}  // namespace

class Search::Impl {
 public:
  Impl(const std::filesystem::path& handbook_dir, const std::filesystem::path& cache_dir)
      : files_(knowledge::read_handbook(handbook_dir)),
        thesaurus_(files_.synonyms, files_.glossary),
        common_(files_.common, thesaurus_),
        databases_(open(cache_dir)),
        speller_(make_speller(databases_.passages, thesaurus_)),
        overrides_(files_, thesaurus_),
        everything_(databases_.passages) {}

  void add_experiments(const std::vector<ExperimentNote>& notes) {
    Xapian::WritableDatabase extra(std::string(), Xapian::DB_BACKEND_INMEMORY);
    for (const ExperimentNote& note : notes) {
      std::string text = note.description + "\n" + note.reason;
      for (const std::string& cite : note.cites) text += "\n" + cite;
      const std::string path = std::string(kExperimentPrefix) + note.id;
      const std::string heading = note.status + " " + note.classification;
      Xapian::Document document;
      document.set_data(knowledge::pack({path, heading, heading, 0, clean(text)}));
      document.add_value(0, path);
      knowledge::add_terms(document, text, 1, thesaurus_);
      knowledge::add_terms(document, heading + " " + note.id + " " + note.commit, 1, thesaurus_);
      extra.add_document(document);
    }
    everything_.add_database(extra);
  }

  SearchAnswer query(std::string_view text, std::size_t limit) const {
    require(limit >= 1, "search: the limit must be at least 1");
    SearchAnswer answer;
    QueryPlan plan = knowledge::plan_query(text, thesaurus_, speller_, common_);
    knowledge::weigh(plan, everything_);
    answer.corrections = plan.corrections;
    std::vector<Candidate> ranked;
    if (!plan.segments.empty()) {
      const auto pages = knowledge::score_pages(plan, databases_.pages);
      ranked = knowledge::rank_passages(plan, everything_, pages);
      answer.support = knowledge::is_supported(plan, ranked, pages);
    }
    if (!answer.support) answer.label = kUnsupportedLabel;
    answer.evidence = describe_evidence(plan, ranked);
    fill_results(plan, ranked, limit, answer);
    return answer;
  }

  std::size_t passage_count() const noexcept { return passage_count_; }
  bool from_cache() const noexcept { return databases_.from_cache; }

 private:
  knowledge::Databases open(const std::filesystem::path& cache_dir) {
    try {
      auto databases = knowledge::open_index(files_, cache_dir, thesaurus_);
      passage_count_ = databases.passages.get_doccount();
      return databases;
    } catch (const Xapian::Error& fault) {
      throw IoError("the handbook's index cannot be built: " + fault.get_msg() +
                    "; free space in the cache folder or remove it");
    }
  }

  static std::string clean(std::string text) {
    std::replace(text.begin(), text.end(), '\x1f', ' ');
    return text;
  }

  SearchResult make_result(const StoredPassage& passage, double score,
                           const QueryPlan& plan) const {
    SearchResult result;
    result.path = passage.path;
    result.heading = passage.heading;
    result.score = score;
    result.line = passage.line;
    result.kind = passage.path.starts_with(kExperimentPrefix)         ? "experiment"
                  : passage.path == required_handbook_pages().front() ? "contract"
                                                                      : "handbook";
    result.snippet = knowledge::make_snippet(passage.text, plan, thesaurus_);
    return result;
  }

  void fill_results(const QueryPlan& plan, const std::vector<Candidate>& ranked, std::size_t limit,
                    SearchAnswer& answer) const {
    const auto first = overrides_.find(plan);
    if (first) answer.results.push_back(make_result(*first, 1.0, plan));
    for (const Candidate& candidate : ranked) {
      if (answer.results.size() >= limit) break;
      const StoredPassage& passage = candidate.passage;
      if (first && passage.path == first->path && passage.heading == first->heading) continue;
      answer.results.push_back(make_result(passage, std::min(candidate.score, 1.0), plan));
    }
  }

  knowledge::HandbookFiles files_;
  knowledge::Thesaurus thesaurus_;
  knowledge::CommonWords common_;
  std::size_t passage_count_ = 0;
  knowledge::Databases databases_;
  knowledge::Speller speller_;
  knowledge::OverrideTable overrides_;
  Xapian::Database everything_;
};

Search::Search(std::filesystem::path handbook_dir, std::filesystem::path cache_dir)
    : impl_(std::make_unique<Impl>(handbook_dir, cache_dir)) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

void Search::add_experiments(const std::vector<ExperimentNote>& notes) {
  impl_->add_experiments(notes);
}
SearchAnswer Search::query(std::string_view text, std::size_t limit) const {
  return impl_->query(text, limit);
}
std::size_t Search::passage_count() const noexcept { return impl_->passage_count(); }
bool Search::from_cache() const noexcept { return impl_->from_cache(); }

}  // namespace ditar
