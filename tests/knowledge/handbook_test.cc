// The handbook's own rules: structure, links, marks and sources, cards beside speeds, no claim of
// an A5500 measurement without a receipt, commands that exist.
#include "ditar/knowledge/search.h"
#include "handbook_pages.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace ditar::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DITAR_SOURCE_DIR;
const fs::path kHandbook = kSource / "knowledge" / "handbook";

const std::regex kMark(
    R"(\[(measured here|vendor|reported|derived|to be measured)((?: S\d+)(?:, ?S\d+)*)?\])");
const std::regex kFigure(
    R"(\d[\d.,]*(?: ?[–-] ?[\d.]+)?\s?(?:TFLOP|TOP/s|GFLOP|GB/s|GB\b|MB\b|KB\b|µs|ms\b|MHz|GHz|%|×|it/s|s on|s for))");
const std::regex kSpeed(R"(\d\s?(?:GB/s|µs|ms\b|it/s|s\b|×))");
const std::regex kCard(
    "A5500|A6000|A4000|A100|A40\\b|A10\\b|H100|H200|B200|L40|L20|3090|3070|4090|5090|SD1\\.5|GA102|"
    "no card|not named|not stated|[Ss]imulat|two-core|this card|the card");

std::string where(const Page& page, const Block& block) {
  return page.path + ":" + std::to_string(block.line) + ": " + block.text.substr(0, 120);
}

class HandbookTest : public ::testing::Test {
 protected:
  const std::vector<Page> pages_ = read_pages(kHandbook);
};

TEST_F(HandbookTest, HasTheNumberedStructure) {
  EXPECT_GE(pages_.size(), 45U);
  std::set<std::string> folders;
  std::set<std::string> numbers;
  const std::regex name(R"((0[0-9])_[a-z_]+/([0-9]{2})_[a-z0-9_]+\.md)");
  for (const Page& page : pages_) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(page.path, match, name)) << page.path;
    folders.insert(match[1]);
    EXPECT_TRUE(numbers.insert(match[1].str() + "/" + match[2].str()).second) << page.path;
  }
  EXPECT_EQ(folders.size(), 10U);
  for (const std::string& folder : folders) {  // no gap in the numbering
    for (int i = 1;; ++i) {
      const std::string key = folder + "/" + (i < 10 ? "0" : "") + std::to_string(i);
      if (numbers.contains(key)) continue;
      const auto count = std::count_if(numbers.begin(), numbers.end(), [&](const auto& number) {
        return number.starts_with(folder);
      });
      EXPECT_EQ(count, i - 1) << "gap at " << key;
      break;
    }
  }
}

TEST_F(HandbookTest, EveryPageHasItsSections) {
  const std::vector<std::string> working = {"Mechanism",           "When it pays on sm_86",
                                            "See it in a profile", "Try it here",
                                            "How it goes wrong",   "Sources"};
  const std::vector<std::string> reference = {"What it is", "Use it here", "How it goes wrong",
                                              "Sources"};
  for (const Page& page : pages_) {
    EXPECT_TRUE(page.text.starts_with("# ")) << page.path;
    const bool facts = page.path.starts_with("00") || page.path.starts_with("09");
    std::size_t at = 0;
    for (const std::string& section : facts ? reference : working) {
      const auto found = std::find(page.sections.begin() + static_cast<std::ptrdiff_t>(at),
                                   page.sections.end(), section);
      ASSERT_NE(found, page.sections.end()) << page.path << " lacks '" << section << "'";
      at = static_cast<std::size_t>(found - page.sections.begin()) + 1;
    }
  }
}

TEST_F(HandbookTest, LinksPointAtFiles) {
  std::vector<std::pair<fs::path, std::string>> texts;
  for (const Page& page : pages_) texts.emplace_back(kHandbook / page.path, page.text);
  for (const char* name : {"program.md", "SKILL.md", "SKILL.es.md", "README.md", "README.es.md",
                           "knowledge/handbook/README.md"}) {
    std::ifstream in(kSource / name);
    texts.emplace_back(kSource / name, std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_FALSE(texts.back().second.empty()) << name;
  }
  for (const auto& [path, text] : texts) {
    for (const std::string& link : links_in(text)) {
      if (link.empty()) continue;
      EXPECT_TRUE(fs::exists(path.parent_path() / link)) << path << " -> " << link;
    }
  }
}

TEST_F(HandbookTest, IndexListsEveryPage) {
  std::ifstream in(kHandbook / "README.md");
  const std::string index(std::istreambuf_iterator<char>(in), {});
  for (const Page& page : pages_) {
    EXPECT_NE(index.find("](" + page.path + ")"), std::string::npos) << page.path;
  }
}

TEST_F(HandbookTest, MarksNameSourcesOfThePage) {
  for (const Page& page : pages_) {
    std::set<std::string> defined;
    const std::regex definition(R"(- (S\d+): \S)");
    for (std::sregex_iterator it(page.text.begin(), page.text.end(), definition), end; it != end;
         ++it) {
      EXPECT_TRUE(defined.insert((*it)[1]).second) << page.path << ": " << (*it)[1];
    }
    EXPECT_FALSE(defined.empty()) << page.path;
    for (const Block& block : page.blocks) {
      for (std::sregex_iterator it(block.text.begin(), block.text.end(), kMark), end; it != end;
           ++it) {
        const std::string kind = (*it)[1];
        const std::string names = (*it)[2];
        if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
        EXPECT_TRUE(kind == "derived" || kind == "to be measured" || kind == "measured here" ||
                    !names.empty())
            << "a mark without source: " << where(page, block);
        const std::regex name("S\\d+");
        for (std::sregex_iterator n(names.begin(), names.end(), name); n != end; ++n) {
          EXPECT_TRUE(defined.contains(n->str())) << n->str() << " in " << where(page, block);
        }
      }
    }
  }
}

// A figure with a unit in the sections that state facts needs a mark in its block or, for a table,
// in the block before or after it.
TEST_F(HandbookTest, FiguresCarryMarks) {
  const std::set<std::string> facts = {"Mechanism", "When it pays on sm_86", "What it is"};
  for (const Page& page : pages_) {
    if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
    for (std::size_t i = 0; i < page.blocks.size(); ++i) {
      const Block& block = page.blocks[i];
      if (block.code || !facts.contains(block.section)) continue;
      if (!std::regex_search(block.text, kFigure)) continue;
      bool marked = std::regex_search(block.text, kMark);
      if (block.text.starts_with("|")) {
        if (i > 0) marked = marked || std::regex_search(page.blocks[i - 1].text, kMark);
        if (i + 1 < page.blocks.size()) {
          marked = marked || std::regex_search(page.blocks[i + 1].text, kMark);
        }
      }
      EXPECT_TRUE(marked) << where(page, block);
    }
  }
}

TEST_F(HandbookTest, ReportedSpeedsNameTheirCard) {
  const std::regex reported(R"(\[(reported|measured here)[^\]]*\])");
  for (const Page& page : pages_) {
    if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
    for (const Block& block : page.blocks) {
      if (!std::regex_search(block.text, reported)) continue;
      std::istringstream rows(block.text);
      const bool table = block.text.starts_with("|");
      for (std::string row; std::getline(rows, row);) {
        const std::string& scope = table ? row : block.text;
        if (!std::regex_search(scope, reported) || !std::regex_search(scope, kSpeed)) continue;
        EXPECT_TRUE(std::regex_search(scope, kCard)) << where(page, block);
      }
    }
  }
}

TEST_F(HandbookTest, NoA5500MeasurementWithoutReceipt) {
  const std::regex measured(R"(\[measured here[^\]]*\])");
  const std::regex receipt("receipt [0-9a-f]{7,}|receipt e[0-9]{4}");
  const std::regex claim("measured on (the|an|one|two) (RTX )?A5500", std::regex::icase);
  for (const Page& page : pages_) {
    if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
    for (const Block& block : page.blocks) {
      if (block.text.find("A5500") == std::string::npos) continue;
      const bool claims =
          std::regex_search(block.text, measured) ||
          (std::regex_search(block.text, claim) && block.text.find(" only") == std::string::npos);
      if (claims) {
        EXPECT_TRUE(std::regex_search(block.text, receipt)) << where(page, block);
      }
    }
  }
}

/// Every number of a record, at any depth.
void collect_numbers(const nlohmann::json& value, std::vector<double>& out) {
  if (value.is_number()) out.push_back(value.get<double>());
  if (!value.is_structured()) return;
  for (const auto& item : value) collect_numbers(item, out);
}

/// Whether some number of the record, or a hundred times it (a share shown in percent), reads as
/// `shown` with as many digits after the point.
bool is_recorded(const std::string& shown, const std::vector<double>& numbers) {
  const std::size_t point = shown.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(shown.size() - point - 1);
  return std::any_of(numbers.begin(), numbers.end(), [&](double number) {
    for (const double factor : {1.0, 100.0}) {
      char text[64];
      std::snprintf(text, sizeof text, "%.*f", digits, number * factor);
      if (shown == text) return true;
    }
    return false;
  });
}

// A measured figure stands in a record of knowledge/records, written by the command that the record
// names; the source of the mark links to it.
TEST_F(HandbookTest, MeasuredFiguresStandInTheirRecords) {
  const std::regex mark(R"(\[measured here (S\d+)[^\]]*\])");
  const std::regex figure(
      R"((\d+(?:\.\d+)?)\s?(?:TFLOP|TOP/s|GFLOP|GB/s|GB\b|MB\b|KB\b|µs|ms\b|MHz|GHz|%|×|it/s|s\b))");
  for (const Page& page : pages_) {
    if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
    for (const Block& block : page.blocks) {
      std::smatch found;
      if (!std::regex_search(block.text, found, mark)) continue;
      const std::regex source("- " + found[1].str() +
                              R"(: [^\n]*\]\(([^)]*records/[^)]+\.json)\))");
      std::smatch link;
      ASSERT_TRUE(std::regex_search(page.text, link, source))
          << where(page, block) << "\n  the source needs a link to ../../records/NAME.json with "
          << R"({"record", "command", "machine", "figures"})";
      std::ifstream in((kHandbook / page.path).parent_path() / link[1].str());
      const nlohmann::json record = nlohmann::json::parse(in, nullptr, false);
      ASSERT_TRUE(record.is_object()) << link[1];
      for (const char* key : {"record", "command", "machine", "figures"}) {
        EXPECT_TRUE(record.contains(key)) << link[1] << " lacks " << key;
      }
      std::vector<double> numbers;
      collect_numbers(record, numbers);
      for (std::sregex_iterator it(block.text.begin(), block.text.end(), figure), end; it != end;
           ++it) {
        EXPECT_TRUE(is_recorded((*it)[1], numbers)) << it->str() << " in " << where(page, block);
      }
    }
  }
}

TEST(RecordedFigureTest, ReadsAsManyDigitsAsShown) {
  const std::vector<double> numbers = {12.3456, 0.0723};
  EXPECT_TRUE(is_recorded("12.35", numbers));
  EXPECT_TRUE(is_recorded("12", numbers));
  EXPECT_TRUE(is_recorded("7.2", numbers));
  EXPECT_FALSE(is_recorded("12.36", numbers));
  EXPECT_FALSE(is_recorded("13", numbers));
}

TEST_F(HandbookTest, UnmeasuredFactsNameTheCommandThatWillMeasure) {
  const std::regex open(R"(\[to be measured\])");
  const std::regex way(
      "dit-worker|dit-ar|doctor|baseline|runbook|[Mm]easure|[Cc]ompare|experiment|"
      "--expect|heuristic");
  for (const Page& page : pages_) {
    if (page.path.ends_with("10_reproducibility_and_claims_standard.md")) continue;
    for (const Block& block : page.blocks) {
      if (!std::regex_search(block.text, open)) continue;
      EXPECT_TRUE(std::regex_search(block.text, way)) << where(page, block);
    }
  }
}

// Both ways: the page lists exactly the knobs that the shipped file has.
TEST_F(HandbookTest, KnobsShownAreTheEnginesKnobs) {
  if (!fs::exists(kSource / "config" / "engine.json")) GTEST_SKIP() << "no config/engine.json";
  std::ifstream file(kSource / "config" / "engine.json");
  const std::string settings(std::istreambuf_iterator<char>(file), {});
  std::ifstream in(kHandbook / "09_reference" / "12_engine_knobs.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const auto names = [](const std::string& text, const std::regex& pattern) {
    std::set<std::string> out;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
      out.insert((*it)[1]);
    }
    return out;
  };
  EXPECT_EQ(names(page, std::regex("\\| `([a-z0-9_]+)` \\|")),
            names(settings, std::regex("\"([a-z0-9_]+)\"\\s*:")));
}

TEST(SkillTest, CommandsAreLiteralAndKnown) {
  std::map<std::string, std::set<std::string>> shown;
  const std::regex command(R"(dit-ar --config config/autoresearch\.json ([a-z]+))");
  for (const char* name : {"program.md", "SKILL.md", "SKILL.es.md", "README.md", "README.es.md"}) {
    std::ifstream in(kSource / name);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    for (const std::string& line : commands_in(text, "dit-ar")) {
      std::smatch match;
      if (std::regex_search(line, match, command)) shown[name].insert(match[1]);
    }
    EXPECT_EQ(text.find("<clas"), std::string::npos) << name << " has a command to be filled in";
    for (const char* needed : {"doctor", "init", "baseline", "search", "experiment"}) {
      EXPECT_TRUE(shown[name].contains(needed)) << name << " lacks " << needed;
    }
    EXPECT_TRUE(std::regex_search(text, std::regex("dit-ar(?: --config [^ ]+)? discard"))) << name;
  }
  EXPECT_EQ(shown["SKILL.md"], shown["SKILL.es.md"]);
}

TEST(SkillTest, NamesTheSixPagesInBothLanguages) {
  for (const char* name : {"program.md", "SKILL.md", "SKILL.es.md"}) {
    std::ifstream in(kSource / name);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    std::size_t last = 0;
    for (const std::string& page : required_handbook_pages()) {
      const auto at = text.find("`knowledge/handbook/" + page + "`\n", last);
      const auto any = text.find("knowledge/handbook/" + page, last);
      EXPECT_TRUE(at != std::string::npos || any != std::string::npos) << name << ": " << page;
      last = any == std::string::npos ? last : any;
    }
  }
  for (const char* name : {"SKILL.md", "SKILL.es.md"}) {
    std::ifstream in(kSource / name);
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "---");
    std::getline(in, line);
    EXPECT_EQ(line, "name: dit-autoresearch-a5500");
    std::getline(in, line);
    EXPECT_TRUE(line.starts_with("description: ")) << line;
  }
}

}  // namespace
}  // namespace ditar::testing
