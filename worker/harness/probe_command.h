// `dit-worker probe`: measures the links of this machine or of the ranks it is started with, checks
// every byte, and saves the topology that `plan` and `dit-ar topology --from` read.
#pragma once

#include <string>

namespace ditar {

struct ProbeCommandOptions {
  std::string device = "cpu";  ///< "cpu" or "cuda" (GPU number = rank)
  std::string topology;        ///< file to add the measurements to; empty: this machine
  std::string out;             ///< file to write; empty: none
  int ranks = 2;               ///< threads, where no launcher started ranks (cpu only)
  bool json = false;
};

/// Under mpirun or srun: pairs and collectives between the ranks. Alone on "cuda": peer copies
/// between all GPUs; on "cpu": ranks as threads. Prints the graph. Exit code 0, or 1 if a link was
/// refused: the graph says which and why.
int probe_command(const ProbeCommandOptions& options);

}  // namespace ditar
