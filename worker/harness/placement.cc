#include "placement.h"

#include "ditar/config/error.h"

#include <sched.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ditar {

namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return -1;
  int value = -1;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

int whole_number(std::string_view text, const std::string& entry) {
  int value = -1;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(fault == std::errc() && end == text.data() + text.size() && value >= 0,
          "placement \"" + entry + "\" is not device/threads/cpu,cpu,...");
  return value;
}

std::vector<std::string> cut(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

LauncherFacts launcher_facts() {
  LauncherFacts facts{number_in("OMPI_COMM_WORLD_RANK"), number_in("OMPI_COMM_WORLD_SIZE")};
  if (facts.rank >= 0) return facts;
  const int tasks = number_in("SLURM_STEP_NUM_TASKS");
  if (std::getenv("PMIX_RANK") != nullptr) {
    facts = {number_in("PMIX_RANK"), tasks > 0 ? tasks : number_in("SLURM_NTASKS")};
    if (facts.rank < 0 || facts.size < 1) {
      throw Unavailable(
          "PMIX_RANK is set, but neither SLURM_STEP_NUM_TASKS nor SLURM_NTASKS says how many ranks "
          "there are; start with mpirun or srun --mpi=pmix");
    }
  } else if (tasks > 1) {
    throw Unavailable("srun started " + std::to_string(tasks) +
                      " tasks without PMIx, so they cannot find each other; give srun --mpi=pmix "
                      "(srun --mpi=list shows what this Slurm has), or use mpirun");
  }
  return facts;
}

std::vector<Placement> parse_placements(const std::string& text) {
  std::vector<Placement> placements;
  if (text.empty()) return placements;
  for (const std::string& entry : cut(text, ';')) {
    const auto parts = cut(entry, '/');
    require(parts.size() == 3 && !parts[0].empty(),
            "placement \"" + entry + "\" is not device/threads/cpu,cpu,...");
    Placement placement{parts[0], whole_number(parts[1], entry), {}};
    require(placement.threads >= 1, "placement \"" + entry + "\" has no thread");
    if (!parts[2].empty()) {
      for (const std::string& cpu : cut(parts[2], ',')) {
        placement.cpus.push_back(whole_number(cpu, entry));
      }
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

std::string format_placements(const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& placement : placements) {
    if (!text.empty()) text += ";";
    text += placement.device + "/" + std::to_string(placement.threads) + "/";
    for (std::size_t i = 0; i < placement.cpus.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(placement.cpus[i]);
    }
  }
  return text;
}

std::string apply_placement(const Placement& placement) {
  if (!placement.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : placement.cpus) {
      require(cpu < CPU_SETSIZE, "CPU " + std::to_string(cpu) + " does not exist");
      CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    require(::sched_setaffinity(0, sizeof set, &set) == 0,
            "the system refuses CPU " + std::to_string(placement.cpus.front()) +
                " and its like; choose among those of this process");
  }
  if (placement.device == "cpu") return "cpu";
  // The CUDA runtime reads this at its first call, which comes later.
  ::setenv("CUDA_VISIBLE_DEVICES", placement.device.c_str(), 1);
  return "cuda:0";
}

std::vector<int> current_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace ditar
