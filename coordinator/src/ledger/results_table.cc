#include "ditar/coordinator/results_table.h"

#include "ditar/coordinator/blob_store.h"

#include <sstream>
#include <string_view>

namespace ditar {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    out += '\'';
  }
  for (const char c : text) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string figure(const std::optional<double>& value) {
  if (!value) return {};
  std::ostringstream out;
  out.precision(9);
  out << *value;
  return out.str();
}

}  // namespace

std::string results_tsv(const std::vector<ResultRow>& rows) {
  std::string text =
      "commit\tmetric\tmemory_gb\tstatus\tdescription\tlane\tclassification\treason\n";
  for (const ResultRow& row : rows) {
    text += cell(row.commit.substr(0, 7)) + '\t' + figure(row.metric) + '\t' +
            figure(row.memory_gb) + '\t' + cell(row.status) + '\t' + cell(row.description) + '\t' +
            cell(row.lane) + '\t' + cell(row.classification) + '\t' + cell(row.reason) + '\n';
  }
  return text;
}

void write_results_tsv(const std::filesystem::path& file, const std::vector<ResultRow>& rows) {
  write_file_durably(file, results_tsv(rows));
}

}  // namespace ditar
