// README and SKILL say the same in both languages: the same headings, lists and tables, the same
// commands but for texts in quotes, the same links and the same names in backticks.
#include "test_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ditar::testing {
namespace {

using Lines = std::vector<std::string>;

std::string replaced(const std::string& text, const char* pattern, const char* with) {
  return std::regex_replace(text, std::regex(pattern), with);
}

struct Shape {
  Lines outline;   ///< "##", "- 3" for a heading and the length of the list below it, "| 4" ...
  Lines commands;  ///< lines of code, without comments and texts
  Lines names;     ///< links and code spans of prose in alphabetical order, each once
};

void collect(const std::string& line, const char* pattern, Lines& out) {
  const std::regex wanted(pattern);
  for (std::sregex_iterator it(line.begin(), line.end(), wanted), end; it != end; ++it) {
    out.push_back((*it)[1]);
  }
}

Shape shape_of(const std::string& page) {
  Shape shape;
  bool fenced = false;
  std::istringstream lines(replaced(page, R"(\\\n\s*)", ""));
  int items = 0, rows = 0;
  const auto close = [&] {
    shape.outline.push_back("items " + std::to_string(items) + ", rows " + std::to_string(rows));
    items = rows = 0;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.find("```") != std::string::npos) {
      fenced = !fenced;
    } else if (fenced || line.starts_with("    ")) {
      line = replaced(replaced(line, R"(^\s+|\s*#.*$)", ""), "\"[^\"]*\"", "\"\"");
      if (!line.empty()) shape.commands.push_back(line);
    } else if (line.starts_with("#")) {
      close();
      shape.outline.push_back(line.substr(0, line.find(' ')));
    } else {
      items += std::regex_search(line, std::regex(R"(^\s*(?:-|\d+\.) )"));
      rows += line.starts_with("|");
      collect(line, R"(\]\(([^)]+)\))", shape.names);
      collect(line, "`([^`]+)`", shape.names);
    }
  }
  close();
  for (std::string& name : shape.names) {
    name = replaced(name, R"((README|SKILL)\.es\.md)", "$1.md");
    name = replaced(name, "--cite .*", "--cite");
  }
  std::sort(shape.names.begin(), shape.names.end());
  shape.names.erase(std::unique(shape.names.begin(), shape.names.end()), shape.names.end());
  return shape;
}

std::string read(const std::string& name) {
  std::ifstream in(std::filesystem::path(DITAR_SOURCE_DIR) / name);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TranslationsTest, SayTheSame) {
  for (const std::string name : {"README", "SKILL"}) {
    const Shape english = shape_of(read(name + ".md")), spanish = shape_of(read(name + ".es.md"));
    EXPECT_GE(english.outline.size(), 10U) << name;
    EXPECT_GE(english.commands.size(), 6U) << name;
    EXPECT_EQ(english.outline, spanish.outline) << name;
    EXPECT_EQ(english.commands, spanish.commands) << name;
    EXPECT_EQ(english.names, spanish.names) << name;
  }
}

TEST(TranslationsTest, ADifferenceIsSeen) {
  const Shape one = shape_of("# A\n- `x`\n\n    dit-ar init # now\n    dit-ar search \"norm\"\n");
  const Shape same = shape_of("# B\n- `x`\n\n    dit-ar init\n    dit-ar search \"norma\"\n");
  EXPECT_EQ(one.outline, same.outline);
  EXPECT_EQ(one.commands, same.commands);
  EXPECT_NE(one.outline, shape_of("# A\n- `x`\n- more\n").outline);
  EXPECT_NE(one.commands, shape_of("    dit-ar baseline\n").commands);
  EXPECT_NE(one.names, shape_of("- `y`\n").names);
}

TEST(TranslationsTest, BothShowThePicture) {
  for (const char* name : {"README.md", "README.es.md"}) {
    const std::string page = read(name);
    std::smatch picture;
    ASSERT_TRUE(std::regex_search(page, picture, std::regex(R"(!\[[^\]]+\]\(([^)]+\.png)\))")));
    std::ifstream in(std::filesystem::path(DITAR_SOURCE_DIR) / picture[1].str(), std::ios::binary);
    std::string sign(4, ' ');
    in.read(sign.data(), 4);
    EXPECT_EQ(sign, "\x89PNG") << name;
  }
}

}  // namespace
}  // namespace ditar::testing
