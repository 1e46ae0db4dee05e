// The handbook's computed tables: built by name, and written between or compared with the markers
// "<!-- table: NAME -->" and "<!-- end -->" of pages. Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ditar::tables {

/// Names of all tables.
std::vector<std::string> table_names();

/// The Markdown of one table, ending in a newline. @throws InvalidArgument for an unknown name.
std::string make_table(std::string_view name);

/// `page` with every marked table replaced. @throws DataError for a marker without end or an
/// unknown name; the text names the line.
std::string with_tables(std::string_view page);

struct PageDifference {
  std::filesystem::path page;
  int line = 0;  ///< first line that differs
};

/// Pages below `handbook_dir` whose tables differ from the program's. Writes nothing.
std::vector<PageDifference> check_pages(const std::filesystem::path& handbook_dir);

/// Rewrites those pages; returns how many changed. @throws IoError if a page cannot be written.
std::size_t write_pages(const std::filesystem::path& handbook_dir);

}  // namespace ditar::tables
