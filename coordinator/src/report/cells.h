// Text for the cells of tables and for labels. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ditar {

/// Tabs, newlines and other control bytes become spaces, and a double quote becomes a single one:
/// gnuplot gives double quotes in data a meaning.
std::string one_line(std::string_view text);
/// At most `limit` bytes, cut between UTF-8 characters, with "..." where something was cut.
std::string shortened(const std::string& text, std::size_t limit);
/// Nine digits; empty for no figure.
std::string figure_text(const std::optional<double>& value);
/// For a cell of a Markdown table: one line, with "|" escaped.
std::string markdown_cell(std::string_view text);

}  // namespace ditar
