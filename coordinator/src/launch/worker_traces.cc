#include "worker_traces.h"

#include <algorithm>
#include <system_error>

namespace ditar {
namespace {

bool is_launcher(const std::string& program) {
  for (const char* name : {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte",
                           "srun", "dit-isolate"}) {
    if (program == name) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> files_left(const std::filesystem::path& home) {
  std::vector<std::string> found;
  std::error_code fault;
  for (auto it = std::filesystem::directory_iterator(home, fault);
       !fault && it != std::filesystem::directory_iterator(); it.increment(fault)) {
    const std::string name = it->path().filename().string();
    if (name != "cuda") found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> processes_beyond(const std::vector<pid_t>& ranks,
                                          const std::vector<pid_t>& all) {
  std::vector<std::string> found;
  if (std::find(ranks.begin(), ranks.end(), -1) != ranks.end()) return found;
  for (const pid_t pid : all) {
    if (std::find(ranks.begin(), ranks.end(), pid) != ranks.end()) continue;
    std::error_code fault;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", fault);
    if (fault || is_launcher(program.filename().string())) continue;
    found.push_back(program.filename().string() + " (" + std::to_string(pid) + ")");
  }
  return found;
}

std::string imitated_figure(const std::string& log) {
  std::size_t at = 0;
  while (at < log.size()) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    for (const char* word : {"KEEP", "DISCARD", "verdict", "elapsed_ns", "speedup"}) {
      if (line.find(word) != std::string::npos) return line.substr(0, 80);
    }
    at = end + 1;
  }
  return {};
}

}  // namespace ditar
