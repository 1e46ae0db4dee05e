#include "ditar/config/error.h"
#include "tables.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace ditar::tables {
namespace {

constexpr std::string_view kOpen = "<!-- table: ";
constexpr std::string_view kClose = "<!-- end -->";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError("cannot read " + path.string() + "; check that the file is readable");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::filesystem::path> pages_below(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file() && entry.path().extension() == ".md") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

}  // namespace

std::string with_tables(std::string_view page) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = page.find(kOpen, at);
    if (open == std::string_view::npos) return out.append(page.substr(at));
    const std::size_t name_begin = open + kOpen.size();
    const std::size_t name_end = page.find(" -->", name_begin);
    const std::size_t close = page.find(kClose, name_begin);
    if (name_end == std::string_view::npos || close == std::string_view::npos) {
      throw DataError("line " + std::to_string(line_of(page, open)) +
                      ": a table marker without its end; add <!-- end -->");
    }
    const std::string_view name = page.substr(name_begin, name_end - name_begin);
    out.append(page.substr(at, name_end + 4 - at));
    out += "\n\n" + make_table(name) + "\n";
    out += kClose;
    at = close + kClose.size();
  }
}

std::vector<PageDifference> check_pages(const std::filesystem::path& handbook_dir) {
  std::vector<PageDifference> out;
  for (const auto& path : pages_below(handbook_dir)) {
    const std::string text = read_text(path);
    const std::string wanted = with_tables(text);
    if (text == wanted) continue;
    const auto at = std::mismatch(text.begin(), text.end(), wanted.begin(), wanted.end()).first;
    out.push_back({path, line_of(text, static_cast<std::size_t>(at - text.begin()))});
  }
  return out;
}

std::size_t write_pages(const std::filesystem::path& handbook_dir) {
  const auto changed = check_pages(handbook_dir);
  for (const PageDifference& page : changed) {
    const std::string wanted = with_tables(read_text(page.page));
    std::ofstream file(page.page, std::ios::binary | std::ios::trunc);
    file << wanted;
    if (!file.flush()) throw IoError("cannot write " + page.page.string());
  }
  return changed.size();
}

}  // namespace ditar::tables
