// Where this rank runs, as the launch says through the environment, and making it so. Used by the
// main thread before any other thread exists.
#pragma once

#include <string>
#include <vector>

namespace ditar {

/// The launcher's word on this process, from its environment (Open MPI, PMIx, Slurm).
struct LauncherFacts {
  int rank = -1;
  int size = -1;
};
/// Rank and size are -1 if no launcher started this process. @throws Unavailable where srun started
/// several tasks that cannot find each other.
LauncherFacts launcher_facts();

struct Placement {
  std::string device = "cpu";  ///< "cpu" or a GPU's UUID
  int threads = 1;
  std::vector<int> cpus;  ///< empty: as inherited
};

/// Reads "device/threads/cpu,cpu;device/threads/..." (DITAR_PLACEMENT), one entry per rank.
/// @throws InvalidArgument naming the entry that is not of this form.
std::vector<Placement> parse_placements(const std::string& text);
std::string format_placements(const std::vector<Placement>& placements);

/// Pins the process and shows it only its GPU. Gives the device's name in this process: "cpu" or
/// "cuda:0". @throws InvalidArgument if the system refuses the CPUs.
std::string apply_placement(const Placement& placement);
/// The CPUs this process may run on, ascending.
std::vector<int> current_cpus();

}  // namespace ditar
