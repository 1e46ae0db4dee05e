// `dit-worker bench`: times requests by hand, alone or under anybody's mpirun or srun, and prints a
// row per size, per rank and per kind of exchange. Its times are the worker's own: a diagnosis,
// never a verdict.
#pragma once

#include "ditar/config/messages.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

struct BenchOptions {
  LoadRequest load;
  std::string device = "cpu";  ///< "cpu", "cuda" or a GPU's UUID; "cuda" takes GPU number = rank
  /// Topology of this machine with probed links: where it refuses peer access, NCCL is kept off it.
  std::string topology;
  int threads = 1;
  std::vector<std::int64_t> images{1};  ///< sizes of a request, measured one after the other
  int steps = 10;
  double guidance = 1.5;
  std::string sampler = "ddim";
  int requests = 20;
  int warmup = 3;
  std::uint64_t seed = 0;
  /// With several ranks: compare with one rank, count what is exchanged, time and check each
  /// kind of exchange.
  bool check = true;
  bool json = false;
};

/// Runs and prints to stdout (rank 0 only). Gives the exit code: 0, or 1 if an output is not
/// finite or not that of one rank, or an exchange arrives damaged.
/// @throws Error with place and mend for anything the engine or MPI refuses.
int bench(const BenchOptions& options);

}  // namespace ditar
