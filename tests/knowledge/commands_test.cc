// Every command that the handbook, the README, the skill and the programme show, through the
// parsers of the programs themselves; and every file of the repository that they name.
#include "cli/parse.h"
#include "ditar/config/error.h"
#include "handbook_pages.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

namespace ditar::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DITAR_SOURCE_DIR;

struct Text {
  std::string name, text;
};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Text> all_texts() {
  std::vector<Text> texts;
  for (const Page& page : read_pages(kSource / "knowledge" / "handbook")) {
    texts.push_back({page.path, page.text});
  }
  for (const char* name : {"README.md", "README.es.md", "SKILL.md", "SKILL.es.md", "program.md",
                           "CONTRIBUTING.md", "knowledge/handbook/README.md"}) {
    texts.push_back({name, read(kSource / name)});
    EXPECT_FALSE(texts.back().text.empty()) << name;
  }
  return texts;
}

/// Words of a command line as a shell would split it: quotes hold words together, '#' starts a
/// comment, a pipe or a redirection ends the command.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (const char c : line + " ") {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ') {
      if (open || !word.empty()) words.push_back(word);
      word.clear();
      open = false;
    } else if (word.empty() && !open &&
               (c == '#' || c == '|' || c == '>' || c == ';' || c == '&')) {
      break;
    } else {
      word += c;
    }
  }
  return words;
}

TEST(ShownCommandsTest, DitArParsesEachOne) {
  std::size_t seen = 0;
  for (const Text& text : all_texts()) {
    for (const std::string& line : commands_in(text.text, "dit-ar")) {
      std::vector<std::string> words = shell_words(line);
      words.erase(words.begin());
      if (!words.empty() && words[0] == "COMMAND") continue;  // stands for any of them
      const bool name_alone = words.size() == 1 && !words[0].starts_with("-");
      if (name_alone) words.emplace_back("--help");  // a command named in prose, not typed
      try {
        const Invocation invocation = parse_command_line(words);
        EXPECT_TRUE(invocation.run || !invocation.text.empty()) << text.name << ": " << line;
      } catch (const Error& error) {
        ADD_FAILURE() << text.name << ": " << line << "\n  " << error.message();
      }
      ++seen;
    }
  }
  EXPECT_GE(seen, 80U);
}

TEST(ShownCommandsTest, TheParserRefusesWhatDoesNotExist) {
  for (const char* line : {"frobnicate", "status --limit 3", "experiment --classification exact",
                           "log --status", "search --limit 0 x", "report --folder x"}) {
    EXPECT_THROW(parse_command_line(shell_words(line)), InvalidArgument) << line;
  }
}

#ifdef DITAR_WORKER_PROGRAM
/// What the worker's own parser says to the arguments: empty if it takes them.
std::string worker_refusal(const std::vector<std::string>& arguments) {
  std::string command = DITAR_WORKER_PROGRAM " --parse-only";
  for (const std::string& argument : arguments) {
    command += " '" + std::regex_replace(argument, std::regex("'"), "'\\''") + "'";
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>&1").c_str(), "r"),
                                                   ::pclose);
  std::string out;
  std::array<char, 4096> bytes;
  while (pipe != nullptr) {
    const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), pipe.get());
    if (got == 0) break;
    out.append(bytes.data(), got);
  }
  return out;
}

TEST(ShownCommandsTest, DitWorkerParsesEachOne) {
  std::size_t seen = 0;
  for (const Text& text : all_texts()) {
    std::vector<std::string> lines = commands_in(text.text, "dit-worker");
    for (const char* starter : {"mpirun", "nsys", "ncu", "srun", "compute-sanitizer"}) {
      for (const std::string& line : commands_in(text.text, starter)) {
        const std::size_t at = line.find("dit-worker ");
        if (at != std::string::npos) lines.push_back(line.substr(at));
      }
    }
    for (const std::string& line : lines) {
      std::vector<std::string> words = shell_words(line);
      words.erase(words.begin());
      const bool name_alone = words.size() == 1 && !words[0].starts_with("-");
      if (words.empty() || words[0] == "--help") continue;
      if (name_alone) {  // a subcommand named in prose, not typed
        EXPECT_NE(worker_refusal({words[0], "--help"}).find("OPTIONS"), std::string::npos)
            << text.name << ": " << line;
      } else {
        EXPECT_EQ(worker_refusal(words), "") << text.name << ": " << line;
      }
      ++seen;
    }
  }
  EXPECT_GE(seen, 10U);
}

TEST(ShownCommandsTest, TheWorkersParserRefusesWhatDoesNotExist) {
  for (const char* line : {"frobnicate --steps 3", "bench --steps", "bench --model m --cards 2",
                           "bench --steps three --model m", "plan --ranks two"}) {
    EXPECT_NE(worker_refusal(shell_words(line)), "") << line;
  }
}
#endif

// A path in backticks that begins with a folder of the repository exists; '*' stands for any name.
TEST(ShownFilesTest, Exist) {
  const std::regex span(
      "`((?:config|coordinator|kernels|knowledge|parallel|scripts|tests|topology|"
      "worker)/[^`\\s]*)`");
  for (const Text& text : all_texts()) {
    for (std::sregex_iterator it(text.text.begin(), text.text.end(), span), end; it != end; ++it) {
      const std::string shown = (*it)[1];
      if (shown.find_first_of("<>{}$…") != std::string::npos) continue;
      const fs::path path = kSource / shown.substr(0, shown.find_first_of(":#"));
      const std::string name = path.filename().string();
      if (name.find('*') == std::string::npos) {
        EXPECT_TRUE(fs::exists(path)) << text.name << ": " << shown;
        continue;
      }
      const std::regex pattern(std::regex_replace(
          std::regex_replace(name, std::regex(R"(\.)"), R"(\.)"), std::regex(R"(\*)"), ".*"));
      bool found = false;
      if (fs::is_directory(path.parent_path())) {
        for (const auto& entry : fs::directory_iterator(path.parent_path())) {
          found = found || std::regex_match(entry.path().filename().string(), pattern);
        }
      }
      EXPECT_TRUE(found) << text.name << ": " << shown;
    }
  }
}

}  // namespace
}  // namespace ditar::testing
