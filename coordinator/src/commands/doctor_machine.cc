// doctor: tools, CPUs, load, disk, GPUs.
#include "commands/doctor_checks.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/isolation.h"
#include "ditar/coordinator/subprocess.h"
#include "ditar/topology_nvml/machine_facts.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace ditar {
namespace {

CheckLine tool_line(const std::string& name, const std::string& argument, const std::string& mend,
                    CheckState if_missing = CheckState::kFail) {
  try {
    ProcessSpec spec;
    spec.program = find_program(name);
    spec.arguments = {argument};
    spec.environment = allowed_environment({"PATH", "HOME"});
    spec.timeout = std::chrono::seconds(20);
    const ProcessResult result = run_process(spec);
    std::string text = result.output.empty() ? result.errors : result.output;
    text = text.substr(0, text.find('\n'));
    return {CheckState::kOk, name, spec.program.string() + ": " + text, ""};
  } catch (const Error&) {
    return {if_missing, name, "not found on PATH", mend};
  }
}

CheckLine disk_line(const Project& project) {
  struct statvfs info {};
  if (::statvfs(project.git.root().c_str(), &info) != 0) {
    return {CheckState::kWarn, "disk", "free space cannot be read", "check it with: df"};
  }
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  const auto least = static_cast<double>(project.settings.budgets.min_free_bytes);
  const std::string text = std::to_string(static_cast<long long>(free / 1e9)) + " GB free";
  if (free < least) {
    return {CheckState::kFail, "disk", text,
            "an experiment needs " + std::to_string(static_cast<long long>(least / 1e9)) +
                " GB; free some space"};
  }
  return {CheckState::kOk, "disk", text, ""};
}

CheckLine omp_line() {
  for (const char* name : {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY"}) {
    if (std::getenv(name) != nullptr) {
      return {CheckState::kWarn, "openmp", std::string(name) + " is set in this shell",
              "workers do not inherit it; unset it so that runs by hand agree with them"};
    }
  }
  return {CheckState::kOk, "openmp", "no OMP variable is set", ""};
}

std::string number_or_dash(const std::optional<unsigned>& value) {
  return value ? std::to_string(*value) : std::string("-");
}

/// What one GPU is and does, and what of it disturbs or falsifies a timing.
std::vector<CheckLine> gpu_lines(const GpuFacts& gpu) {
  std::vector<CheckLine> out;
  const std::string who = "GPU " + std::to_string(gpu.index);
  const std::string ecc = !gpu.ecc ? "unknown" : *gpu.ecc ? "on" : "off";
  const std::string text = who + " " + gpu.name + ", SM " + number_or_dash(gpu.sm_clock_mhz) +
                           " of " + number_or_dash(gpu.max_sm_clock_mhz) + " MHz, " +
                           number_or_dash(gpu.temperature_c) + " C, ECC " + ecc;
  out.push_back({CheckState::kOk, "gpu", text + (gpu.is_target() ? ", the target" : ""), ""});
  if (!gpu.is_target()) {
    out.push_back({CheckState::kWarn, "target", who + " is no NVIDIA RTX A5500",
                   "its figures are marked off-target and belong to this card alone"});
  }
  if (clocks_are_faulty(gpu.clock_reasons.value_or(0))) {
    std::string names;
    for (const std::string& name : clock_reason_names(*gpu.clock_reasons)) names += " " + name;
    out.push_back({CheckState::kWarn, "clocks", who + " is held down:" + names,
                   "let it cool and check its power; timings taken now are void"});
  }
  if (gpu.mig.value_or(false)) {
    out.push_back(
        {CheckState::kWarn, "mig", who + " is partitioned (MIG)", "GPU lanes need a whole GPU"});
  }
  for (const ComputeProcess& process : gpu.processes.value_or(std::vector<ComputeProcess>{})) {
    out.push_back({CheckState::kWarn, "processes",
                   who + " is used by process " + std::to_string(process.pid) +
                       (process.command.empty() ? "" : " (" + process.command + ")"),
                   "end it before baseline"});
  }
  return out;
}

}  // namespace

std::vector<CheckLine> check_tools(const Project&) {
  const std::string mend = "bash scripts/setup.sh";
  std::vector<CheckLine> out = {
      tool_line("git", "--version", mend),
      tool_line("cmake", "--version", mend),
      tool_line("ninja", "--version", mend),
      tool_line("c++", "--version", mend),
      tool_line("mpirun", "--version", mend),
      tool_line("nvcc", "--version", "only GPU lanes need it", CheckState::kWarn)};
  const std::filesystem::path worker = program_folder() / "dit-worker";
  if (std::filesystem::exists(worker)) {
    out.push_back({CheckState::kOk, "dit-worker", worker.string(), ""});
  } else {
    out.push_back({CheckState::kWarn, "dit-worker", "not beside dit-ar",
                   "generate needs it: bash scripts/build.sh"});
  }
  return out;
}

std::vector<CheckLine> check_trust() {
  const Isolation isolation = find_isolation();
  const TrustLevel level = trust_level(isolation);
  std::vector<CheckLine> out;
  const std::string reached = to_string(level) + ", layers " + isolation.layers;
  if (level >= TrustLevel::kT2) {
    out.push_back({CheckState::kOk, "trust", reached, ""});
  } else {
    out.push_back({CheckState::kWarn, "trust", reached,
                   isolation.hindrance.empty() ? "a fence needs user namespaces or Landlock"
                                               : isolation.hindrance});
  }
  for (const std::string& promise : open_promises(isolation)) {
    out.push_back({CheckState::kOk, "no promise", promise, ""});
  }
  return out;
}

std::vector<CheckLine> check_machine(const Project& project) {
  const HostFacts facts = read_host_facts();
  std::vector<CheckLine> out;
  const std::string cpus = std::to_string(facts.cpus) + " of " + facts.cpu_model;
  if (facts.cpus < 2) {
    out.push_back({CheckState::kWarn, "cpus", cpus,
                   "coordinator and worker share one CPU: timings will be noisy"});
  } else {
    out.push_back({CheckState::kOk, "cpus", cpus, ""});
  }
  const std::string load = std::to_string(facts.load_1min).substr(0, 4);
  if (facts.load_1min > 0.5 * std::max(1, facts.cpus)) {
    out.push_back({CheckState::kWarn, "load", load + " in the last minute",
                   "other work disturbs the timings; stop it before baseline"});
  } else {
    out.push_back({CheckState::kOk, "load", load, ""});
  }
  out.push_back(omp_line());
  out.push_back(disk_line(project));
  if (facts.gpu_count == 0) {
    out.push_back({CheckState::kWarn, "gpu", "no NVIDIA driver: CPU lanes only",
                   "install the driver on a machine with an RTX A5500"});
  } else {
    for (const GpuFacts& gpu : read_machine().gpus) {
      for (CheckLine& line : gpu_lines(gpu)) out.push_back(std::move(line));
    }
  }
  try {
    const LaneConfig& lane = project.settings.default_lane(facts.gpu_name, facts.gpu_count);
    out.push_back({CheckState::kOk, "lane",
                   lane.name + (Settings::on_target(lane, facts.gpu_name) ? "" : " (off-target)") +
                       " is the choice for this machine",
                   ""});
  } catch (const Error& error) {
    out.push_back({CheckState::kFail, "lane", error.message(), "name one: dit-ar init --lane"});
  }
  return out;
}

}  // namespace ditar
