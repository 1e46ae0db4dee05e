// results.tsv, the table users of autoresearch tools know, generated from records; a view, never a
// source. Pure but for the one write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

struct ResultRow {
  std::string commit;            ///< full id; seven digits are shown
  std::optional<double> metric;  ///< in the lane's unit; empty for a crash
  std::optional<double> memory_gb;
  std::string status;       ///< "keep", "discard" or "crash"
  std::string description;  ///< as given; escaped in the table
  std::string lane, classification, reason;
};

/// Header line and one line per row: commit, metric, memory_gb, status, description, lane, class,
/// reason. Tab, newline, return and backslash are written \t \n \r \\; a cell that starts with
/// = + - or @ gets a leading apostrophe.
std::string results_tsv(const std::vector<ResultRow>& rows);
/// Writes it in one step. @throws IoError.
void write_results_tsv(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

}  // namespace ditar
