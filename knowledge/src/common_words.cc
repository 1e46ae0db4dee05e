#include "common_words.h"

#include <sstream>

namespace ditar::knowledge {

CommonWords::CommonWords(std::string_view text, const Thesaurus& thesaurus) {
  std::istringstream lines{std::string(text)};
  bool spanish = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      if (word.back() == ':') {
        spanish = word == "spanish:";
        continue;
      }
      const std::string folded = fold(word);
      if (spanish) {
        spanish_.insert(thesaurus.stem_spanish(folded));
      } else {
        english_.insert(thesaurus.stem_english(folded));
      }
    }
  }
}

bool CommonWords::contains(std::string_view folded, const Thesaurus& thesaurus) const {
  return english_.contains(thesaurus.stem_english(folded)) ||
         spanish_.contains(thesaurus.stem_spanish(folded));
}

}  // namespace ditar::knowledge
