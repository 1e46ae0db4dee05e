#include "launch_environment.h"

#include "ditar/config/error.h"
#include "mpirun_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace ditar {

namespace {

/// "device/threads/cpu,cpu;..." as dit-worker reads it.
std::string placement_text(const LaunchPlan& plan) {
  std::string text;
  for (const RankPlacement& placement : plan.placements) {
    if (!text.empty()) text += ";";
    text += placement.device + "/" + std::to_string(placement.threads) + "/";
    for (std::size_t i = 0; i < placement.cpus.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(placement.cpus[i]);
    }
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> launch_environment(const LaunchPlan& plan,
                                                      const LaunchSecrets& secrets) {
  std::map<std::string, std::string> variables;
  for (const std::string& name : plan.environment_allow) {
    if (const char* value = std::getenv(name.c_str())) variables[name] = value;
  }
  int threads = 1;
  for (const RankPlacement& placement : plan.placements) {
    threads = std::max(threads, placement.threads);
  }
  variables["OMP_NUM_THREADS"] = std::to_string(threads);
  variables["OMP_WAIT_POLICY"] = "passive";
  variables["OMP_DYNAMIC"] = "false";
  for (const auto& [name, value] : plan.environment) variables[name] = value;
  variables[kTagVariable] = secrets.attempt;
  variables["DITAR_NONCE"] = secrets.nonce;
  variables["DITAR_PLACEMENT"] = placement_text(plan);
  if (!secrets.curve.empty()) variables["DITAR_CURVE"] = secrets.curve;
  variables["TMPDIR"] = secrets.temporary;
  if (::geteuid() == 0) {
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
      variables[name] = "1";
    }
  }
  return variables;
}

void check_plan(const LaunchPlan& plan) {
  require(!plan.placements.empty(), "a launch plan needs at least one rank");
  require(plan.worker.is_absolute() && ::access(plan.worker.c_str(), X_OK) == 0,
          "the worker " + plan.worker.string() +
              " is not a program; build it, and name it by its "
              "absolute path");
  require(std::filesystem::is_directory(plan.run_directory),
          "the run directory " + plan.run_directory.string() + " does not exist");
  for (const RankPlacement& placement : plan.placements) {
    require(!placement.device.empty() && placement.device.find_first_of("/;") == std::string::npos,
            "a rank's device \"" + placement.device + "\" is neither cpu nor a GPU's UUID");
    require(placement.threads >= 1,
            "a rank with " + std::to_string(placement.threads) + " threads cannot run");
  }
  int slots = 0;
  for (const HostSlots& host : plan.hosts) slots += host.slots;
  require(plan.hosts.empty() || slots == static_cast<int>(plan.placements.size()),
          "the plan has " + std::to_string(plan.placements.size()) + " ranks but hosts for " +
              std::to_string(slots));
  require(is_one_host(plan) || !plan.network_interface.empty(),
          "a group over several hosts needs the network interface that connects them");
}

}  // namespace ditar
