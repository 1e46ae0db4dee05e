// Judged queries, retrieval measures and two plain rivals (grep and BM25 over files) for the
// search-quality tests. Test support only.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ditar::testing {

struct JudgedQuery {
  std::string kind;  ///< plain, spanish, typo, symptom, unsupported
  std::string text;
  std::map<std::string, int> relevant;  ///< handbook path -> grade 1..3
};

std::vector<JudgedQuery> load_queries(const std::filesystem::path& file);

/// nDCG@5 with gain 2^grade - 1; a page counts once, later passages of it count as misses.
double ndcg_at_5(const JudgedQuery& query, const std::vector<std::string>& paths);

/// Whether the first path has the highest grade that the query gives.
bool best_first(const JudgedQuery& query, const std::vector<std::string>& paths);

struct File {
  std::string path;
  std::string text;
};
std::vector<File> load_pages(const std::filesystem::path& handbook);

/// Plain rankings of whole files, prepared once.
class PlainRivals {
 public:
  explicit PlainRivals(const std::vector<File>& files);

  /// Files that hold most of the query's words, as grep -ic would count; ties by number of lines.
  std::vector<std::string> grep(const std::string& query) const;
  /// Okapi BM25 (k1 1.2, b 0.75), words lower-cased, nothing else.
  std::vector<std::string> bm25(const std::string& query) const;

 private:
  std::vector<std::string> by_score(const std::vector<double>& scores) const;

  std::vector<std::string> paths_;
  std::vector<std::vector<std::string>> lines_;  ///< lower-cased
  std::vector<std::map<std::string, double>> counts_;
  std::vector<double> lengths_;
  double mean_length_ = 1.0;
};

}  // namespace ditar::testing
