#include "tokenizer.h"

#include "utf8.h"

#include <algorithm>

namespace ditar::knowledge {
namespace {

enum class Kind { kLower, kUpper, kDigit, kUnderscore };

struct Sign {
  char32_t code;
  Kind kind;
  std::size_t begin;
  std::size_t end;
};

bool ends_word(const std::vector<Sign>& word, std::size_t at) { return at >= word.size(); }

// A plural s after capitals (GPUs, FLOPs) is no boundary.
bool is_plural_tail(const std::vector<Sign>& word, std::size_t at) {
  return word[at].code == U's' && ends_word(word, at + 1);
}

bool boundary_before(const std::vector<Sign>& word, std::size_t at) {
  const Kind before = word[at - 1].kind;
  const Kind here = word[at].kind;
  if (here == Kind::kUnderscore || before == Kind::kUnderscore) return true;
  if (before == Kind::kLower && here == Kind::kUpper) return true;
  if (before == Kind::kUpper && here == Kind::kUpper && at + 1 < word.size() &&
      word[at + 1].kind == Kind::kLower) {
    return !is_plural_tail(word, at + 1);
  }
  return false;
}

std::string folded_range(const std::vector<Sign>& word, std::size_t from, std::size_t to) {
  std::string out;
  for (std::size_t i = from; i < to; ++i) append_folded(out, word[i].code);
  return out;
}

void split_parts(const std::vector<Sign>& word, Token& token) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  bool tiny = false;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    if (i < word.size() && !boundary_before(word, i)) continue;
    if (word[from].kind != Kind::kUnderscore) {
      parts.push_back(folded_range(word, from, i));
      const bool camel = word[from].kind != Kind::kDigit && i - from == 1;
      tiny = tiny || (camel && token.whole.find('_') == std::string::npos);
    }
    from = i;
  }
  if (parts.size() > 1 && !tiny) token.parts = std::move(parts);
}

void finish_word(std::vector<Sign>& word, std::vector<Token>& out) {
  while (!word.empty() && word.back().kind == Kind::kUnderscore) word.pop_back();
  std::size_t first = 0;
  while (first < word.size() && word[first].kind == Kind::kUnderscore) ++first;
  word.erase(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(first));
  if (word.empty()) return;
  Token token;
  token.whole = folded_range(word, 0, word.size());
  token.begin = word.front().begin;
  token.end = word.back().end;
  split_parts(word, token);
  // Longer than any word or identifier: binary noise; keeps index terms under Xapian's limit.
  if (token.whole.size() <= 100) out.push_back(std::move(token));
  word.clear();
}

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> out;
  std::vector<Sign> word;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = at;
    const char32_t code = next_code_point(text, at);
    if (code == U'_') {
      word.push_back({code, Kind::kUnderscore, begin, at});
    } else if (code >= U'0' && code <= U'9') {
      word.push_back({code, Kind::kDigit, begin, at});
    } else if (is_letter(code)) {
      word.push_back({code, is_upper(code) ? Kind::kUpper : Kind::kLower, begin, at});
    } else if (!is_combining_mark(code)) {
      finish_word(word, out);
      word.clear();
    }
  }
  finish_word(word, out);
  return out;
}

std::string fold(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const char32_t code = next_code_point(text, at);
    if (code == kInvalidCode) {
      out.push_back(' ');
    } else if (!is_combining_mark(code)) {
      append_folded(out, code);
    }
  }
  return out;
}

bool is_stopword(std::string_view folded) {
  static const std::vector<std::string_view> kWords = [] {
    std::vector<std::string_view> words = {
        "a",         "about",      "after",      "al",       "all",      "an",       "and",
        "any",       "are",        "as",         "at",       "be",       "been",     "but",
        "by",        "can",        "como",       "con",      "cual",     "cuando",   "de",
        "del",       "did",        "do",         "does",     "donde",    "each",     "el",
        "en",        "entre",      "es",         "esta",     "este",     "for",      "from",
        "get",       "gets",       "going",      "ha",       "had",      "has",      "hay",
        "have",      "how",        "i",          "if",       "in",       "into",     "is",
        "it",        "its",        "just",       "la",       "las",      "lo",       "los",
        "mas",       "me",         "mi",         "much",     "muy",      "my",       "no",
        "not",       "o",          "of",         "on",       "one",      "or",       "our",
        "para",      "pero",       "por",        "porque",   "que",      "se",       "should",
        "si",        "sin",        "so",         "some",     "son",      "su",       "than",
        "that",      "the",        "their",      "then",     "there",    "this",     "to",
        "un",        "una",        "uno",        "use",      "using",    "very",     "was",
        "we",        "what",       "when",       "where",    "which",    "while",    "why",
        "will",      "with",       "y",          "you",      "your",     "were",     "would",
        "could",     "also",       "them",       "these",    "those",    "only",     "usar",
        "puedo",     "puede",      "hacer",      "reduce",   "reducing", "reducir",  "reduzco",
        "improve",   "improving",  "mejorar",    "mejoro",   "bajar",    "bajo",     "lower",
        "avoid",     "evitar",     "evito",      "increase", "aumentar", "optimise", "optimize",
        "optimizar", "optimizing", "optimising", "ahorrar",  "tengo",    "quiero",   "necesito",
        "debo",      "hago",       "way",        "thing",    "things",   "should",   "mejor",
        "better",    "que",        "frente",     "contra",   "sobre",    "cada",     "ya",
        "nos",       "las",        "need",       "want",     "help",     "please",   "make",
        "makes",     "try",        "trying",     "more",     "less",     "still",    "too",
        "e",         "u",          "am",         "because",  "over",     "under",    "out",
        "up",        "down",       "off",        "vs",       "versus",   "via",      "per",
        "it's",      "dont",       "doesnt",     "isnt",     "cant",     "s",        "t",
    };
    std::sort(words.begin(), words.end());
    return words;
  }();
  return std::binary_search(kWords.begin(), kWords.end(), folded);
}

bool reads_spanish(const std::vector<Token>& tokens) {
  static constexpr std::string_view kWords[] = {
      "al",  "como", "con",  "cual", "cuando", "cuanta", "cuanto", "de",  "del", "donde", "el",
      "en",  "es",   "esta", "este", "hay",    "la",     "las",    "lo",  "los", "mas",   "mi",
      "muy", "para", "pero", "por",  "porque", "que",    "se",     "si",  "sin", "sobre", "son",
      "su",  "un",   "una",  "uno",  "y",      "tan",    "tantos", "ser", "sus", "mis",   "entre"};
  const auto spanish = std::count_if(tokens.begin(), tokens.end(), [](const Token& token) {
    return std::find(std::begin(kWords), std::end(kWords), token.whole) != std::end(kWords);
  });
  return spanish >= 2;
}

bool is_connector(std::string_view folded) {
  static constexpr std::string_view kWords[] = {
      "a",  "al",  "an",  "and", "con", "de",  "del", "e",  "el", "en",  "for",  "in",
      "la", "las", "los", "of",  "on",  "per", "the", "to", "un", "una", "with", "y"};
  return std::find(std::begin(kWords), std::end(kWords), folded) != std::end(kWords);
}

}  // namespace ditar::knowledge
