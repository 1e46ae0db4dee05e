// dit-ar ended by a signal while it builds, launches and times: no process of it is left, the
// ledger holds whole records, and the next command closes the attempt.
#include "scratch_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

namespace ditar {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{180};
constexpr std::chrono::seconds kEndPatience{20};

struct ProcessLine {
  pid_t parent = -1;
  std::string name;
};

std::map<pid_t, ProcessLine> all_processes() {
  std::map<pid_t, ProcessLine> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (close == std::string::npos || close + 4 > text.size() || text[close + 2] == 'Z') continue;
    out[pid] = {std::atoi(text.c_str() + close + 4), text.substr(open + 1, close - open - 1)};
  }
  return out;
}

/// Names of the living descendants of `root`.
std::vector<std::string> descendants(pid_t root) {
  const std::map<pid_t, ProcessLine> all = all_processes();
  std::vector<std::string> names;
  for (const auto& [pid, line] : all) {
    for (pid_t at = line.parent; at > 0;) {
      if (at == root) names.push_back(line.name);
      const auto found = all.find(at);
      at = at == root || found == all.end() ? -1 : found->second.parent;
    }
  }
  return names;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool wait_for(std::chrono::seconds patience, const std::function<bool()>& done) {
  const auto until = Clock::now() + patience;
  while (Clock::now() < until) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done();
}

class SessionInterruptTest : public testing::Test {
 protected:
  // Whatever outlives dit-ar becomes a child of this process.
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override {
    session_.restore();
    session_.restore_build_slot();
  }

  pid_t start_experiment() {
    const ProcessSpec spec = session_.command({"experiment", "--classification", "exact",
                                               "--description", "to be interrupted", "--again"});
    std::vector<std::string> words = {spec.program.string()}, variables;
    words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
    for (const auto& [name, value] : spec.environment) variables.push_back(name + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const std::string log = said_file();
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      ::dup2(fd, 1);
      ::dup2(fd, 2);
      if (::chdir(spec.directory.c_str()) == 0) ::execve(argv[0], argv.data(), envp.data());
      ::_exit(127);
    }
    return pid;
  }

  static std::string said_file() { return (ScratchSession::folder() / "interrupted.log").string(); }
  static std::string said() {
    std::ifstream in(said_file());
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// Starts the experiment, sends the signal once `there` holds, and looks at what is left.
  void interrupt(int number, const std::function<bool(pid_t)>& there) {
    SCOPED_TRACE(strsignal(number));
    const pid_t pid = start_experiment();
    int status = 0;
    const bool reached =
        wait_for(kPatience, [&] { return there(pid) || ::waitpid(pid, &status, WNOHANG) == pid; });
    ASSERT_TRUE(reached) << said();
    ASSERT_EQ(::kill(pid, number), 0) << "it ended before: " << said();
    ASSERT_TRUE(wait_for(kEndPatience, [&] { return ::waitpid(pid, &status, WNOHANG) == pid; }))
        << said();
    if (number == SIGKILL) {
      EXPECT_TRUE(WIFSIGNALED(status)) << said();
    } else {
      ASSERT_TRUE(WIFEXITED(status)) << said();
      EXPECT_EQ(WEXITSTATUS(status), 128 + number) << said();
      EXPECT_NE(said().find("interrupted; nothing is lost"), std::string::npos) << said();
    }
    expect_nothing_left();
    expect_whole_ledger();
  }

  static void expect_nothing_left() {
    const bool gone = wait_for(kEndPatience, [] {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
    });
    std::string names;
    for (const std::string& name : descendants(::getpid())) names += " " + name;
    EXPECT_TRUE(gone) << "still running:" << names;
  }

  void expect_whole_ledger() const {
    const std::string before = session_.read(".autoresearch/ledger.jsonl");
    ASSERT_FALSE(before.empty());
    EXPECT_EQ(before.back(), '\n');
    const ProcessResult recover = session_.dit_ar({"recover", "--json"});
    EXPECT_EQ(recover.exit_code, 0) << recover.output << recover.errors;
    const auto document = nlohmann::json::parse(recover.output);
    EXPECT_EQ(document["sealed_tail"], "");
    const std::string after = session_.read(".autoresearch/ledger.jsonl");
    EXPECT_TRUE(after.starts_with(before)) << "a record was changed";
    EXPECT_NE(after.find("\"abandoned\"", before.rfind("\"intent\"")), std::string::npos);
    EXPECT_EQ(session_.dit_ar({"verify"}).exit_code, 0);
  }

  ScratchSession session_;
};

TEST_F(SessionInterruptTest, WhileItBuildsNothingIsLeft) {
  for (const int number : {SIGTERM, SIGINT, SIGKILL}) {
    session_.restore();
    session_.restore_build_slot();
    session_.write(kBlockFile, session_.read(kBlockFile) + "// " + std::to_string(number) + "\n");
    session_.commit("a change that has to be compiled");
    interrupt(number, [](pid_t pid) { return is_among(descendants(pid), "cc1plus"); });
  }
}

TEST_F(SessionInterruptTest, WhileItLaunchesNothingIsLeft) {
  session_.restore();
  session_.set_knob("fuse_gate_norm", false);
  session_.commit("a change of a knob");
  for (const int number : {SIGTERM, SIGINT, SIGKILL}) {
    interrupt(number, [](pid_t pid) { return is_among(descendants(pid), "mpirun"); });
  }
}

TEST_F(SessionInterruptTest, WhileItTimesNothingIsLeft) {
  session_.restore();
  session_.set_knob("fuse_gate_norm", false);
  session_.commit("a change of a knob");
  for (const int number : {SIGTERM, SIGINT, SIGKILL}) {
    interrupt(number, [](pid_t pid) {
      const std::vector<std::string> names = descendants(pid);
      return said().find("speed: block 1") != std::string::npos &&
             std::count(names.begin(), names.end(), "dit-worker") >= 2;
    });
  }
}

}  // namespace
}  // namespace ditar
