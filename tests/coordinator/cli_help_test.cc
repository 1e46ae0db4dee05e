// The help of every command: examples that the parser takes, and the exit codes that exist.
#include "cli/parse.h"
#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace ditar {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The first words of the lines under "Subcommands:".
std::vector<std::string> commands() {
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string& line : lines_of(parse_command_line({"--help"}).text)) {
    if (line == "Subcommands:") {
      inside = true;
    } else if (inside && line.starts_with("  ") && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    } else if (inside && !line.starts_with(" ")) {
      break;
    }
  }
  return names;
}

/// As a shell splits it, double quotes only; a redirection ends it.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : line + " ") {
    if (c == '"') {
      quoted = !quoted;
    } else if (c != ' ' || quoted) {
      word += c;
    } else if (!word.empty()) {
      if (word == ">") break;
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

TEST(CliHelpTest, ListsTheCommandsOfTheContract) {
  const std::vector<std::string> names = commands();
  for (const char* name :
       {"doctor", "init", "baseline", "check", "experiment", "status", "log", "show", "compare",
        "report", "search", "generate", "topology", "verify", "recover", "discard", "completion"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(CliHelpTest, EveryCommandHasExamplesThatParse) {
  for (const std::string& command : commands()) {
    SCOPED_TRACE(command);
    int examples = 0;
    bool inside = false;
    for (const std::string& line : lines_of(parse_command_line({command, "--help"}).text)) {
      if (line.starts_with("Examples:")) {
        inside = true;
      } else if (inside && line.starts_with("  dit-ar ")) {
        const std::vector<std::string> words = words_of(line.substr(9));
        ++examples;
        try {
          const Invocation parsed = parse_command_line(words);
          EXPECT_EQ(parsed.command, command) << line;
        } catch (const Error& error) {
          ADD_FAILURE() << line << ": " << error.message();
        }
      } else {
        inside = false;
      }
    }
    EXPECT_GE(examples, 1);
  }
}

TEST(CliHelpTest, EveryHelpNamesTheExitCodesThatExist) {
  std::vector<std::string> names = commands();
  names.emplace_back();
  for (const std::string& command : names) {
    SCOPED_TRACE(command);
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    const std::string help = parse_command_line(arguments).text;
    const std::size_t at = help.find("Exit codes:");
    ASSERT_NE(at, std::string::npos);
    for (const ExitCode code :
         {ExitCode::kFailure, ExitCode::kUsage, ExitCode::kData, ExitCode::kRules,
          ExitCode::kUnavailable, ExitCode::kIo, ExitCode::kTemporary, ExitCode::kProtocol,
          ExitCode::kConfig, ExitCode::kInterrupted, ExitCode::kTerminated}) {
      const std::regex word("\\b" + std::to_string(to_int(code)) + "\\b");
      EXPECT_TRUE(std::regex_search(help.substr(at), word)) << to_int(code);
    }
  }
}

}  // namespace
}  // namespace ditar
