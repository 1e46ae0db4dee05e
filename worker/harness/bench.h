// `dit-worker bench`: times requests by hand, alone or under anybody's mpirun or srun, and prints a
// table per rank. Its times are the worker's own: a diagnosis, never a verdict.
#pragma once

#include "ditar/config/messages.h"

#include <cstdint>
#include <string>

namespace ditar {

struct BenchOptions {
  LoadRequest load;
  std::string device = "cpu";  ///< "cpu", "cuda" or a GPU's UUID; "cuda" takes GPU number = rank
  int threads = 1;
  std::int64_t images = 1;
  int steps = 10;
  double guidance = 1.5;
  std::string sampler = "ddim";
  int requests = 20;
  int warmup = 3;
  std::uint64_t seed = 0;
  bool json = false;
};

/// Runs and prints to stdout (rank 0 only). Gives the exit code: 0, or 1 if an output is not
/// finite.
/// @throws Error with place and mend for anything the engine or MPI refuses.
int bench(const BenchOptions& options);

}  // namespace ditar
