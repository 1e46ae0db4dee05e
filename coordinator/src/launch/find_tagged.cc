#include "child_process.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ditar {

namespace {

struct ProcessFacts {
  char state = '?';
  pid_t session = -1;
};

/// State and session from /proc/PID/stat; the name in parentheses may hold anything.
ProcessFacts read_facts(const std::filesystem::path& directory) {
  std::ifstream file(directory / "stat");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  const auto close = text.rfind(')');
  ProcessFacts facts;
  if (close == std::string::npos) return facts;
  std::istringstream rest(text.substr(close + 1));
  pid_t parent = 0;
  pid_t group = 0;
  rest >> facts.state >> parent >> group >> facts.session;
  return facts;
}

bool has_entry(const std::filesystem::path& directory, const std::string& entry) {
  std::ifstream file(directory / "environ", std::ios::binary);
  for (std::string item; std::getline(file, item, '\0');) {
    if (item == entry) return true;
  }
  return false;
}

}  // namespace

std::vector<pid_t> find_tagged(const std::string& entry, pid_t session) {
  std::vector<pid_t> pids;
  std::error_code fault;
  for (auto it = std::filesystem::directory_iterator("/proc", fault);
       !fault && it != std::filesystem::directory_iterator(); it.increment(fault)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    const ProcessFacts facts = read_facts(it->path());
    if (facts.state == 'Z' || facts.state == 'X' || facts.state == '?') continue;
    if ((session > 0 && facts.session == session) || has_entry(it->path(), entry)) {
      pids.push_back(pid);
    }
  }
  return pids;
}

pid_t inner_pid(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    pid_t last = -1;
    for (pid_t number = 0; numbers >> number;) last = number;
    return last;
  }
  return -1;
}

}  // namespace ditar
