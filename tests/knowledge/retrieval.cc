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

PlainRivals::PlainRivals(const std::vector<File>& files) {
  double total = 0.0;
  for (const File& file : files) {
    paths_.push_back(file.path);
    std::string lower = file.text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::istringstream in(lower);
    auto& lines = lines_.emplace_back();
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    auto& count = counts_.emplace_back();
    const auto words = plain_words(file.text);
    for (const std::string& word : words) count[word] += 1.0;
    lengths_.push_back(static_cast<double>(words.size()));
    total += lengths_.back();
  }
  if (!files.empty()) mean_length_ = total / static_cast<double>(files.size());
}

std::vector<std::string> PlainRivals::by_score(const std::vector<double>& scores) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0.0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::string> out;
  for (std::size_t i : order) out.push_back(paths_[i]);
  return out;
}

std::vector<std::string> PlainRivals::grep(const std::string& query) const {
  std::vector<double> scores(paths_.size(), 0.0);
  for (const std::string& word : plain_words(query)) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const auto held = std::count_if(lines_[i].begin(), lines_[i].end(), [&](const auto& line) {
        return line.find(word) != std::string::npos;
      });
      scores[i] += (held > 0 ? 1.0 : 0.0) + static_cast<double>(held) / 1e6;
    }
  }
  return by_score(scores);
}

std::vector<std::string> PlainRivals::bm25(const std::string& query) const {
  const double n = static_cast<double>(paths_.size());
  std::vector<double> scores(paths_.size(), 0.0);
  for (const std::string& word : plain_words(query)) {
    const double df = static_cast<double>(std::count_if(
        counts_.begin(), counts_.end(), [&](const auto& count) { return count.contains(word); }));
    const double idf = std::log(1.0 + (n - df + 0.5) / (df + 0.5));
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto it = counts_[i].find(word);
      if (it == counts_[i].end()) continue;
      const double norm = 0.25 + 0.75 * lengths_[i] / mean_length_;
      scores[i] += idf * it->second * 2.2 / (it->second + 1.2 * norm);
    }
  }
  return by_score(scores);
}

}  // namespace ditar::testing
