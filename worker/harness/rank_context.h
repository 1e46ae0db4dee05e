// What a serving rank is made of: MPI, links, communicator, runner. Made by serve(), used by the
// lead and follower loops on the main thread.
#pragma once

#include "ditar/parallel/mpi.h"
#include "engine_runner.h"
#include "placement.h"
#include "rank_link.h"

#include <memory>
#include <string>
#include <vector>

namespace ditar {

struct RankContext {
  std::string endpoint;
  AttemptId attempt;
  std::unique_ptr<MpiRuntime> mpi;
  std::unique_ptr<Bootstrap> bootstrap;
  RankLinks links;
  std::vector<RankHello> hellos;               ///< of all ranks
  std::unique_ptr<Communicator> communicator;  ///< null for one rank
  std::unique_ptr<EngineRunner> runner;
};

/// Rank 0: hello, then requests until stop. Gives the exit code.
int lead(RankContext& context);
/// Other ranks: requests of rank 0 until stop. Gives the exit code.
int follow(RankContext& context);

/// Ends the process at once, leaving MPI's clean-up to the launcher.
[[noreturn]] void leave_now(const std::string& why, int exit_code);

}  // namespace ditar
