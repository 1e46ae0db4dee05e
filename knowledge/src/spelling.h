// Corrects words that nothing in the index knows, by the nearest known word. Immutable after
// construction; thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

class Speller {
 public:
  /// @param frequencies  known words with how many documents hold them; names that begin with a
  /// capital (index terms of stems) are known but never proposed
  explicit Speller(std::map<std::string, std::size_t> frequencies);

  bool knows(std::string_view word) const;

  /// The known word at the least distance (insert, delete, change, swap of neighbours): at most one
  /// for 4 to 6 letters, two from 7 on; the first letter must fit unless the first two are swapped.
  /// The more frequent one of equals. Words with digits or under four letters are left alone.
  std::optional<std::string> correct(std::string_view word) const;

 private:
  std::map<std::string, std::size_t, std::less<>> words_;
};

/// Optimal string alignment distance, cut off above `limit` (then limit + 1).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace ditar::knowledge
