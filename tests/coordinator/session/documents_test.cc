// program.md, SKILL and README in both languages: every command that they show is typed in a
// scratch clone, in the order of the text. What the text asks a person to do between two commands
// (edit something, commit it) is done here.
#include "scratch_session.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace ditar {
namespace {

/// Shell commands of a page in order: lines of fenced and of indented code, and inline code that
/// begins with dit-ar, git or bash. Continued lines are joined.
std::vector<std::string> commands_of(const std::string& page) {
  const std::string joined = std::regex_replace(page, std::regex(R"(\\\n\s*)"), "");
  const std::regex inline_code("`((?:dit-ar --config|git|bash) [^`]+)`");
  const std::regex command(R"(\s*((?:dit-ar|git|bash) .*))");
  std::vector<std::string> out;
  bool fenced = false;
  std::istringstream lines(joined);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.find("```") != std::string::npos) {
      fenced = !fenced;
    } else if (fenced || line.starts_with("    ")) {
      if (std::regex_match(line, match, command)) out.push_back(match[1]);
    } else {
      for (std::sregex_iterator it(line.begin(), line.end(), inline_code), end; it != end; ++it) {
        out.push_back((*it)[1]);
      }
    }
  }
  return out;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class ShownSessionTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { session_.restore(); }

  std::string head() const { return session_.git("rev-parse HEAD"); }
  /// An edit of a mutable path on top of the best, not yet committed.
  void edit() {
    if (!best_.empty()) session_.git("reset -q --hard " + best_);
    const std::string file = kProductFile;
    session_.write(file, session_.read(file) + "// Remark " + std::to_string(++edits_) + ".\n");
  }
  /// One commit on top of the best.
  void candidate() {
    if (!best_.empty() && head() != best_) return;
    edit();
    session_.commit("kernels: Remark on the products");
  }
  void prepare(const std::string& command) {
    if (holds(command, " baseline")) best_ = head();
    if (command.starts_with("git commit -am")) edit();
    for (const char* needs : {" experiment ", " discard", "git reset", "git commit --amend"}) {
      if (holds(command, needs)) candidate();
    }
  }
  void type(const std::string& command) {
    prepare(command);
    std::string line = "GIT_EDITOR=true " + command;
    for (int tried = 0; tried < 4; ++tried) {
      const ProcessResult result = session_.bash(line);
      const std::string text = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
      const std::string last = text.substr(text.rfind('\n') + 1);
      constexpr std::string_view kRetry = "RETRY: ";
      if (last.starts_with(kRetry)) {
        line = last.substr(kRetry.size());
        continue;
      }
      EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.output << result.errors;
      if (holds(command, " experiment ")) {
        EXPECT_TRUE(std::regex_search(last, std::regex("^(KEEP|DISCARD|CRASH)\\b"))) << text;
        if (last.starts_with("KEEP")) best_ = head();
      }
      return;
    }
    ADD_FAILURE() << "the machine was at fault four times: " << command;
  }

  ScratchSession session_;
  std::string best_;
  int edits_ = 0;
};

TEST_P(ShownSessionTest, EveryCommandRuns) {
  std::ifstream in(std::filesystem::path(DITAR_SOURCE_DIR) / GetParam());
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  int experiments = 0, typed = 0;
  for (const std::string& command : commands_of(page)) {
    if (command.starts_with("bash ")) {  // set-up, which installs packages: its syntax alone
      const std::string script = command.substr(5, command.find(' ', 5) - 5);
      EXPECT_TRUE(session_.bash("bash -n " + script).ok()) << command;
      continue;
    }
    type(command);
    if (HasFatalFailure()) return;
    ++typed;
    experiments += holds(command, " experiment ");
  }
  EXPECT_GE(typed, 8);
  EXPECT_GE(experiments, 1);
}

INSTANTIATE_TEST_SUITE_P(Session, ShownSessionTest,
                         testing::Values("program.md", "SKILL.md", "SKILL.es.md", "README.md",
                                         "README.es.md"),
                         [](const auto& page) {
                           std::string name = page.param;
                           std::erase_if(name, [](char c) { return c == '.'; });
                           return name;
                         });

}  // namespace
}  // namespace ditar
