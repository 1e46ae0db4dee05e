#include "spelling.h"

#include <algorithm>

namespace ditar::knowledge {

Speller::Speller(std::map<std::string, std::size_t> frequencies) {
  for (auto& [word, count] : frequencies) words_.emplace(word, count);
}

bool Speller::knows(std::string_view word) const { return words_.find(word) != words_.end(); }

std::optional<std::string> Speller::correct(std::string_view word) const {
  if (word.size() < 4 || word.size() > 40) return std::nullopt;
  if (std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  const std::size_t limit = word.size() >= 7 ? 2 : 1;
  std::size_t best = limit + 1;
  std::size_t best_count = 0;
  std::optional<std::string> out;
  for (const auto& [known, count] : words_) {
    if (known.size() < 4 || (known[0] >= 'A' && known[0] <= 'Z')) continue;
    if (known.find('_') != std::string::npos) continue;
    const bool first_fits = known[0] == word[0] || (known[0] == word[1] && known[1] == word[0]);
    if (!first_fits) continue;
    const std::size_t distance = edit_distance(word, known, limit);
    if (distance < best || (distance == best && distance <= limit && count > best_count)) {
      best = distance;
      best_count = count;
      if (distance <= limit) out = known;
    }
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

}  // namespace ditar::knowledge
