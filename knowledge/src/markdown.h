// Cuts a Markdown page into passages: one per heading, with the page's title and line numbers.
// Stateless; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ditar::knowledge {

struct Passage {
  std::string title;      ///< the page's first-level heading
  std::string heading;    ///< this passage's heading; for level three "parent: heading"
  int line = 0;           ///< 1-based line of the heading
  std::string text;       ///< body without heading, comments removed
  std::string overrides;  ///< terms after "*Overrides:*", comma-separated; else empty
};

/// Passages in page order. Headings inside code fences do not count; a "Sources" passage is left
/// out, because names of documents are no advice. A page without heading is one passage.
std::vector<Passage> split_page(std::string_view page);

/// Whether a line says how people ask for the page ("Asked as: ...", "Preguntado como: ...").
bool is_asked_line(std::string_view line);

/// Whether a line lists what a user sees when the page is the one to read ("Symptoms: ...").
bool is_symptom_line(std::string_view line);

}  // namespace ditar::knowledge
