// The coordinator's whole view of a worker group: launch it, load a model, run requests, stop it.
// A session owns its processes: when it is gone, so are they, whatever happened. One thread at a
// time calls; a session's own keeper thread only sends signs of life. Sessions are independent.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/coordinator/launch_plan.h"
#include "ditar/coordinator/worker_failure.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

/// A run's output with the coordinator's own time of it.
struct RunResult {
  std::vector<float> latents;
  /// Steady clock of this process: from the moment before the request's last frame is handed to
  /// the transport until the last output byte is here. The worker has no part in it.
  std::int64_t elapsed_ns = 0;
  std::vector<RankReport> ranks;  ///< diagnosis by rank, in rank order
};

/// What loading told, with the coordinator's own time of it.
struct LoadResult {
  LoadReply model;
  std::int64_t elapsed_ns = 0;
  std::vector<RankReport> ranks;
};

/// What a group left that no honest engine leaves; each part empty where there is nothing.
struct WorkerTraces {
  std::vector<std::string> files;      ///< in the HOME that was its own
  std::vector<std::string> processes;  ///< "name (pid)" beyond the launcher's and the ranks'
  std::string printed;                 ///< a line that imitates a figure or a verdict
};

class WorkerSession {
 public:
  /// Starts `plan.mpirun` with one rank per placement and blocks until every rank said hello and
  /// was accepted. @throws WorkerFailure (phase launch or hello; nothing of the group is left),
  /// Unavailable if there is no mpirun, InvalidArgument if the plan itself is wrong.
  static std::unique_ptr<WorkerSession> launch(const LaunchPlan& plan);

  virtual ~WorkerSession() = default;

  /// Loads a model on all ranks; once per session. Blocks. @throws WorkerFailure (phase load).
  virtual LoadResult load(const LoadRequest& request) = 0;
  /// Runs one request and gives its latents, of the request's own shape. Blocks.
  /// @throws WorkerFailure (phase run); the session is over then and all processes are reaped.
  /// @throws InvalidArgument if the request's counts do not fit each other; nothing is sent then.
  virtual RunResult run(const RunRequest& request) = 0;
  /// Asks the group to end, waits, reaps. Idempotent. @throws WorkerFailure (phase stop) if the
  /// group had to be killed or ended with a non-zero code; everything is reaped in any case.
  virtual void stop() = 0;

  /// What each rank said of itself and was accepted with, in rank order.
  virtual const std::vector<RankHello>& ranks() const = 0;
  /// The launcher and every process that carries this session's tag and still lives.
  virtual std::vector<pid_t> pids() const = 0;
  /// What is there to see of the group beside its answers; empty if it cannot be known. While the
  /// session is open.
  virtual WorkerTraces traces() const { return {}; }
};

}  // namespace ditar
