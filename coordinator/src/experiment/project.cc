#include "ditar/coordinator/project.h"

#include "ditar/config/error.h"
#include "ditar/topology_nvml/machine_facts.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace ditar {
namespace {

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

const std::vector<int> kCpusAtStart = [] {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
    }
  }
  return cpus;
}();

}  // namespace

Project Project::open(const std::filesystem::path& inside, const std::string& config) {
  GitRepository git = GitRepository::open(inside);
  const std::filesystem::path file =
      config.empty() ? git.root() / "config" / "autoresearch.json" : std::filesystem::path(config);
  Settings settings = read_settings(file);
  StateLayout layout(git.root());
  return Project{std::move(git), std::move(settings), std::move(layout)};
}

HostFacts read_host_facts() {
  HostFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.host = names.nodename;
    facts.kernel = std::string(names.sysname) + " " + names.release;
  }
  facts.cpu_model = cpu_model_name();
  facts.cpus = static_cast<int>(kCpusAtStart.size());
  double load[1] = {0.0};
  if (::getloadavg(load, 1) == 1) facts.load_1min = load[0];
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    facts.memory_bytes = static_cast<std::int64_t>(info.totalram) * info.mem_unit;
  }
  const MachineFacts machine = read_machine();
  facts.gpu_count = static_cast<int>(machine.gpus.size());
  if (!machine.gpus.empty()) facts.gpu_name = machine.gpus.front().name;
  return facts;
}

std::vector<int> allowed_cpus() { return kCpusAtStart; }

void pin_to_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    throw IoError("cannot pin the coordinator to its CPUs; allow sched_setaffinity for this user");
  }
}

SessionState require_session(const Project& project, const std::vector<Record>& records) {
  const std::string branch = project.git.branch();
  if (session_tag(branch).empty()) {
    throw Error("the branch '" + (branch.empty() ? std::string("(detached)") : branch) +
                    "' is no research branch; switch with: git switch -c autoresearch/<tag>",
                ExitCode::kRules);
  }
  auto session = load_session(records, branch);
  if (!session) {
    throw Error("no session on branch '" + branch + "'; start one with: dit-ar init",
                ExitCode::kRules);
  }
  return *session;
}

}  // namespace ditar
