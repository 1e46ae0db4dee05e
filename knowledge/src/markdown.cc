#include "markdown.h"

namespace ditar::knowledge {
namespace {

constexpr std::string_view kOverrides = "*Overrides:*";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

int heading_level(std::string_view line) {
  std::size_t level = 0;
  while (level < line.size() && line[level] == '#') ++level;
  return level >= 1 && level <= 6 && level < line.size() && line[level] == ' '
             ? static_cast<int>(level)
             : 0;
}

class Splitter {
 public:
  void take(std::string_view line, int number) {
    if (line.starts_with("```")) fenced_ = !fenced_;
    const int level = fenced_ ? 0 : heading_level(line);
    if (level > 0) {
      open(level, trim(line.substr(static_cast<std::size_t>(level))), number);
      return;
    }
    if (line.starts_with("<!--") || line.starts_with("```")) return;
    if (line.starts_with(kOverrides)) {
      now_.overrides = trim(line.substr(kOverrides.size()));
      return;
    }
    now_.text.append(line);
    now_.text.push_back('\n');
  }

  std::vector<Passage> finish() {
    close();
    for (Passage& passage : done_) passage.title = title_;
    return std::move(done_);
  }

 private:
  void open(int level, std::string_view heading, int number) {
    close();
    now_ = {};
    now_.line = number;
    now_.heading = heading;
    if (level == 1 && title_.empty()) title_ = heading;
    if (level == 2) parent_ = heading;
    if (level >= 3 && !parent_.empty()) now_.heading = parent_ + ": " + std::string(heading);
    skip_ = level == 2 ? heading == "Sources" : skip_ && level > 2;
  }

  void close() {
    const bool blank = trim(now_.text).find_first_not_of('\n') == std::string_view::npos;
    if (!skip_ && (!blank || !now_.overrides.empty())) {
      if (now_.line == 0) now_.line = 1;
      done_.push_back(std::move(now_));
    }
  }

  std::vector<Passage> done_;
  Passage now_;
  std::string title_;
  std::string parent_;
  bool fenced_ = false;
  bool skip_ = false;
};

}  // namespace

bool is_asked_line(std::string_view line) {
  return line.starts_with("Asked as: ") || line.starts_with("Preguntado como: ");
}

bool is_symptom_line(std::string_view line) { return line.starts_with("Symptoms: "); }

std::vector<Passage> split_page(std::string_view page) {
  Splitter splitter;
  int number = 0;
  while (!page.empty()) {
    const auto end = page.find('\n');
    std::string_view line = page.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    splitter.take(line, ++number);
    page = end == std::string_view::npos ? std::string_view{} : page.substr(end + 1);
  }
  return splitter.finish();
}

}  // namespace ditar::knowledge
