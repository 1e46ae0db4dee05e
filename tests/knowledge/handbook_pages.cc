#include "handbook_pages.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace ditar::testing {
namespace {

class BlockReader {
 public:
  void take(const std::string& line, int number) {
    if (line.starts_with("```")) {
      flush();
      fenced_ = !fenced_;
      return;
    }
    if (fenced_) return append(line, number, true);
    if (line.starts_with("#")) {
      flush();
      if (line.starts_with("## ")) {
        section_ = line.substr(3);
        sections.push_back(section_);
      }
      return;
    }
    const bool item = std::regex_search(line, kItem);
    if (line.empty() || line.starts_with("<!--")) return flush();
    if (item) flush();
    append(line, number, false);
  }
  void flush() {
    if (!now_.text.empty()) blocks.push_back(now_);
    now_ = {};
  }

  std::vector<Block> blocks;
  std::vector<std::string> sections;

 private:
  void append(const std::string& line, int number, bool code) {
    if (now_.text.empty()) now_ = {section_, "", number, code};
    now_.text += line + "\n";
  }

  const std::regex kItem{R"(^\s*([-*]|\d+\.) )"};
  Block now_;
  std::string section_;
  bool fenced_ = false;
};

}  // namespace

std::vector<Page> read_pages(const std::filesystem::path& handbook) {
  std::vector<Page> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(handbook)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".md") continue;
    Page page;
    page.path = entry.path().lexically_relative(handbook).generic_string();
    if (page.path == "README.md") continue;
    std::ifstream in(entry.path());
    page.text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    BlockReader reader;
    std::istringstream lines(page.text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) reader.take(line, ++number);
    reader.flush();
    page.blocks = std::move(reader.blocks);
    page.sections = std::move(reader.sections);
    out.push_back(std::move(page));
  }
  std::sort(out.begin(), out.end(), [](const Page& a, const Page& b) { return a.path < b.path; });
  return out;
}

std::vector<std::string> commands_in(const std::string& markdown, const std::string& program) {
  std::string joined = std::regex_replace(markdown, std::regex(R"(\\\n\s*)"), "");
  std::vector<std::string> out;
  bool fenced = false;
  std::istringstream lines(joined);
  const std::regex code("`([^`]+)`");
  for (std::string line; std::getline(lines, line);) {
    const auto text = line.find_first_not_of(' ');
    if (text != std::string::npos && line.compare(text, 3, "```") == 0) {
      fenced = !fenced;
      continue;
    }
    if (fenced || line.starts_with("    ")) {  // indented code is code too
      if (text != std::string::npos && line.compare(text, program.size() + 1, program + " ") == 0) {
        out.push_back(line.substr(text));
      }
      continue;
    }
    for (std::sregex_iterator it(line.begin(), line.end(), code), end; it != end; ++it) {
      if ((*it)[1].str().starts_with(program + " ")) out.push_back((*it)[1].str());
    }
  }
  return out;
}

std::vector<std::string> links_in(const std::string& markdown) {
  std::vector<std::string> out;
  const std::regex link(R"(\]\(([^)\s]+)\))");
  for (std::sregex_iterator it(markdown.begin(), markdown.end(), link), end; it != end; ++it) {
    const std::string target = (*it)[1];
    if (target.find("://") == std::string::npos) out.push_back(target.substr(0, target.find('#')));
  }
  return out;
}

}  // namespace ditar::testing
