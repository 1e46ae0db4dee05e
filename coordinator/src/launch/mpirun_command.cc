#include "mpirun_command.h"

#include "child_process.h"
#include "ditar/config/error.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <regex>

namespace ditar {

namespace {

constexpr const char* kMend =
    "install Open MPI (apt-get install openmpi-bin) or name it in the plan";

std::string search_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string host_list(const LaunchPlan& plan) {
  if (plan.hosts.empty()) return "localhost:" + std::to_string(plan.placements.size());
  std::string text;
  for (const HostSlots& host : plan.hosts) {
    text += (text.empty() ? "" : ",") + host.host + ":" + std::to_string(host.slots);
  }
  return text;
}

}  // namespace

bool is_one_host(const LaunchPlan& plan) {
  const std::string here = this_host();
  for (const HostSlots& host : plan.hosts) {
    if (host.host != "localhost" && host.host != here) return false;
  }
  return true;
}

MpirunVersion parse_mpirun_version(const std::string& path, const std::string& text) {
  // "mpirun (Open MPI) 4.1.4", "mpirun (Open MPI) 5.0.3"; PRRTE's own prterun says 3.x.
  std::smatch match;
  MpirunVersion version{path, 0, 0};
  if (std::regex_search(text, match, std::regex(R"(\(Open MPI\) (\d+)\.(\d+))"))) {
    version.major = std::stoi(match[1]);
    version.minor = std::stoi(match[2]);
  }
  return version;
}

MpirunVersion find_mpirun(const LaunchPlan& plan) {
  const std::string path = plan.mpirun.empty() ? search_path("mpirun") : plan.mpirun;
  if (path.empty() || path.front() != '/' || ::access(path.c_str(), X_OK) != 0) {
    throw Unavailable(path.empty() ? std::string("there is no mpirun on PATH; ") + kMend
                                   : path + " is not a program; " + kMend);
  }
  const CommandOutput output =
      run_command({path, "--version"}, {"PATH=/usr/bin:/bin"}, std::chrono::seconds(10));
  const MpirunVersion version = parse_mpirun_version(path, output.text);
  if (version.major < 4) {
    throw Unavailable(path + " is not Open MPI 4.1 or later (it answers \"" +
                      output.text.substr(0, output.text.find('\n')) + "\"); " + kMend);
  }
  return version;
}

std::vector<std::string> mpirun_command(const LaunchPlan& plan, const MpirunVersion& version,
                                        const std::vector<std::string>& exported,
                                        const std::string& endpoint, const std::string& attempt) {
  const bool old = version.major == 4;
  std::vector<std::string> argv = plan.wrapper;
  const auto add = [&](std::initializer_list<std::string> parts) {
    argv.insert(argv.end(), parts);
  };
  add({version.path, "-np", std::to_string(plan.placements.size())});
  add({"--host", host_list(plan), "--map-by", "slot", "--bind-to", "none"});
  if (old) {
    add({"--tag-output", "--mca", "orte_keep_fqdn_hostnames", "1"});
    // Ranks have nothing to clean up: the second that 4.1 grants them would delay every crash.
    add({"--mca", "odls_base_sigkill_timeout", "0"});
  } else {
    add({"--output", "tag"});
  }
  if (is_one_host(plan)) {
    add({"--mca", "btl", "self,vader"});
    if (!old) argv.back() = "self,sm";
  } else if (!plan.network_interface.empty()) {
    add({"--mca", "btl_tcp_if_include", plan.network_interface});
    add({"--mca", old ? "oob_tcp_if_include" : "prte_if_include", plan.network_interface});
  }
  for (const std::string& name : exported) add({"-x", name});
  add({plan.worker.string(), "--coord", endpoint, "--attempt", attempt});
  return argv;
}

}  // namespace ditar
