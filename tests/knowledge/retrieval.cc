#include "retrieval.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

namespace ditar::testing {
namespace {

double gain(int grade) { return std::pow(2.0, grade) - 1.0; }

std::vector<std::string> plain_words(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text + " ") {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 0x80 || c == '_') {
      word.push_back(static_cast<char>(std::tolower(byte)));
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  return out;
}

std::vector<std::string> by_score(const std::vector<File>& files,
                                  const std::vector<double>& scores) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (scores[i] > 0.0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::string> out;
  for (std::size_t i : order) out.push_back(files[i].path);
  return out;
}

}  // namespace

std::vector<JudgedQuery> load_queries(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::vector<JudgedQuery> out;
  for (const auto& entry : nlohmann::json::parse(in)) {
    JudgedQuery query;
    query.kind = entry.at("kind").get<std::string>();
    query.text = entry.at("query").get<std::string>();
    query.relevant = entry.at("relevant").get<std::map<std::string, int>>();
    out.push_back(std::move(query));
  }
  return out;
}

double ndcg_at_5(const JudgedQuery& query, const std::vector<std::string>& paths) {
  double got = 0.0;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, paths.size()); ++i) {
    const auto grade = query.relevant.find(paths[i]);
    if (grade == query.relevant.end() || !seen.insert(paths[i]).second) continue;
    got += gain(grade->second) / std::log2(static_cast<double>(i) + 2.0);
  }
  std::vector<int> grades;
  for (const auto& [path, grade] : query.relevant) grades.push_back(grade);
  std::sort(grades.rbegin(), grades.rend());
  double ideal = 0.0;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, grades.size()); ++i) {
    ideal += gain(grades[i]) / std::log2(static_cast<double>(i) + 2.0);
  }
  return ideal > 0.0 ? got / ideal : 0.0;
}

bool best_first(const JudgedQuery& query, const std::vector<std::string>& paths) {
  int best = 0;
  for (const auto& [path, grade] : query.relevant) best = std::max(best, grade);
  if (paths.empty()) return false;
  const auto first = query.relevant.find(paths.front());
  return first != query.relevant.end() && first->second == best;
}

std::vector<File> load_pages(const std::filesystem::path& handbook) {
  std::vector<File> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(handbook)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".md") continue;
    std::ifstream in(entry.path());
    out.push_back({entry.path().lexically_relative(handbook).generic_string(),
                   {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}});
  }
  std::sort(out.begin(), out.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return out;
}

std::vector<std::string> grep_ranking(const std::vector<File>& files, const std::string& query) {
  const auto words = plain_words(query);
  std::vector<double> scores;
  for (const File& file : files) {
    std::string lower = file.text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    double found = 0.0;
    double lines = 0.0;
    for (const std::string& word : words) {
      found += lower.find(word) != std::string::npos;
      std::istringstream in(lower);
      for (std::string line; std::getline(in, line);) {
        lines += line.find(word) != std::string::npos;
      }
    }
    scores.push_back(found + lines / 1e6);
  }
  return by_score(files, scores);
}

std::vector<std::string> bm25_ranking(const std::vector<File>& files, const std::string& query) {
  std::vector<std::map<std::string, double>> counts;
  std::vector<double> lengths;
  double total = 0.0;
  for (const File& file : files) {
    auto& count = counts.emplace_back();
    const auto words = plain_words(file.text);
    for (const std::string& word : words) count[word] += 1.0;
    lengths.push_back(static_cast<double>(words.size()));
    total += lengths.back();
  }
  const double n = static_cast<double>(files.size());
  std::vector<double> scores(files.size(), 0.0);
  for (const std::string& word : plain_words(query)) {
    const double df = static_cast<double>(std::count_if(
        counts.begin(), counts.end(), [&](const auto& count) { return count.contains(word); }));
    const double idf = std::log(1.0 + (n - df + 0.5) / (df + 0.5));
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto it = counts[i].find(word);
      if (it == counts[i].end()) continue;
      const double norm = 0.25 + 0.75 * lengths[i] / (total / n);
      scores[i] += idf * it->second * 2.2 / (it->second + 1.2 * norm);
    }
  }
  return by_score(files, scores);
}

}  // namespace ditar::testing
