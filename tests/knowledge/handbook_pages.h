// Reads handbook pages into blocks (paragraph, list item, table) for the page checks. Test support.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ditar::testing {

struct Block {
  std::string section;  ///< second-level heading above it, or ""
  std::string text;
  int line = 0;
  bool code = false;
};

struct Page {
  std::string path;  ///< relative to the handbook
  std::string text;
  std::vector<std::string> sections;  ///< second-level headings in order
  std::vector<Block> blocks;
};

/// All pages below `handbook` but the index, sorted by path.
std::vector<Page> read_pages(const std::filesystem::path& handbook);

/// Lines of shell commands in fenced blocks and inline code that begin with `program`, with
/// continuation lines joined.
std::vector<std::string> commands_in(const std::string& markdown, const std::string& program);

/// Targets of Markdown links that are no URL.
std::vector<std::string> links_in(const std::string& markdown);

}  // namespace ditar::testing
