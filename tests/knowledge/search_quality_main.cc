// search-quality: measures the handbook's search beside plain BM25 and plain grep and prints the
// table; with --write it renews the record and the handbook's page too.
#include "search_figures.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage =
    "usage: search-quality [--write | --misses] REPOSITORY\n"
    "  --misses list what goes wrong in the sets that may be looked at, instead of the table\n"
    "  --write  renew knowledge/records/search-quality.json and the table of\n"
    "           knowledge/handbook/09_reference/13_search_quality.md\n"
    "example: search-quality --write .\n";

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

int run(const fs::path& root, bool write) {
  namespace t = ditar::testing;
  const fs::path handbook = root / "knowledge" / "handbook";
  const auto figures = t::measure(handbook, t::query_sets(root));
  std::cout << t::to_markdown(figures);
  if (!write) return 0;
  const nlohmann::json record = {
      {"record", "search-quality"},
      {"command", "search-quality --write ."},
      {"machine", "any: no time is measured, the figures depend on pages and queries alone"},
      {"figures", t::to_json(figures)}};
  write_text(root / "knowledge" / "records" / "search-quality.json", record.dump(1) + "\n");
  const fs::path page = handbook / "09_reference" / "13_search_quality.md";
  write_text(page, t::with_record(read_text(page), t::to_markdown(figures)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc > 1 && std::string_view(argv[1]) == "--write";
  const bool misses = argc > 1 && std::string_view(argv[1]) == "--misses";
  const int at = write || misses ? 2 : 1;
  if (argc != at + 1 || std::string_view(argv[at]).starts_with("--")) {
    std::cerr << kUsage;
    return argc == 2 && std::string_view(argv[1]) == "--help" ? 0 : 2;
  }
  try {
    if (misses) {
      const fs::path root = argv[at];
      std::cout << ditar::testing::list_misses(root / "knowledge" / "handbook",
                                               ditar::testing::query_sets(root));
      return 0;
    }
    return run(argv[at], write);
  } catch (const std::exception& error) {
    std::cerr << "search-quality: " << error.what() << '\n';
    return 1;
  }
}
