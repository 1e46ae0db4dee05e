// The life of an experiment and of a baseline, from the lock to the receipt. Each call blocks until
// there is a verdict or an exception; one at a time per repository (the ledger's lock says so).
// Whatever instant the process dies at, the ledger and the refs say what was done, and the next
// call closes what was open.
#pragma once

#include "ditar/coordinator/attempts.h"
#include "ditar/coordinator/candidate_build.h"
#include "ditar/coordinator/judgement.h"
#include "ditar/coordinator/lane_hardware.h"
#include "ditar/coordinator/progress.h"
#include "ditar/coordinator/project.h"
#include "ditar/coordinator/time_floor.h"
#include "ditar/coordinator/timing_block.h"
#include "ditar/coordinator/trusted_tools.h"
#include "ditar/coordinator/verdict/decision.h"
#include "ditar/coordinator/worker_launcher.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

struct ExperimentRequest {
  std::string classification, description, expect;
  std::vector<std::string> cites;
  bool again = false;
  bool supported = true;  ///< whether the handbook's search supports the description
  std::string command;    ///< what RETRY prints
};

/// The parts of the world that tests replace.
struct FlowParts {
  std::function<std::unique_ptr<WorkerLauncher>(const LaneConfig&)> launcher;
  std::function<std::unique_ptr<QualityJudge>(const LaneConfig&)> quality;
  std::function<BuildResult(const LaneConfig&, const std::string& tree)> build;
  Isolation isolation;                    ///< the fence that launcher and build use; for receipts
  std::function<std::uint64_t()> secret;  ///< 64 unpredictable bits
  /// What watches the machine under a block, and what a request costs. Empty: nothing and time.
  std::function<std::unique_ptr<MachineGuard>(const LaneConfig&, const HostLimits&)> guard;
  std::function<std::unique_ptr<CostMeter>(const LaneConfig&)> cost;
  /// The GPUs that the lane runs on. Empty: none, as on a CPU lane.
  std::function<LaneGpus(const LaneConfig&)> gpus;
  /// The machine's programs that build and launch use. Empty: not watched.
  std::function<std::vector<TrustedTool>(const LaneConfig&)> tools;
  /// The lane's weights, for the probe that changes them. Empty: not probed.
  std::function<std::filesystem::path(const LaneConfig&)> model;
  /// The machine's rate, measured with the original's worker. Empty: times have no floor.
  std::function<TimeFloor(const LaneConfig&, const Arm& original)> rate;
  /// Seconds on a steady clock, for the time limit of an experiment. Empty: the machine's own.
  std::function<double()> clock;
};
/// The lane's weights, checked by their hash. Synthetic ones are made in seconds, below
/// .autoresearch/ models, if they are not there. @throws DataError, IoError.
std::filesystem::path lane_model(const Project& project, const LaneConfig& lane);
/// The real parts for a project.
FlowParts real_parts(const Project& project);

struct ExperimentOutcome {
  Attempt attempt;           ///< with verdict, reason, why, figures and next step
  std::string would_change;  ///< what would have changed the verdict
  std::string last_line;  ///< "KEEP ...", "DISCARD(reason) ...", "CRASH(phase) ...", "RETRY: ..."
  bool from_memory = false;
};

/// Runs HEAD as an experiment. @throws Error (exit 67) for what the session's rules refuse before
/// anything is measured: wrong branch, no session, no baseline, dirty tree, no new commit, a
/// hypothesis whose crash was mended twice already. From the candidate's own build on it may take
/// budgets.experiment_seconds: a build or suite that needs longer is a CRASH, a comparison that is
/// open then DISCARD(unresolved).
ExperimentOutcome run_experiment_flow(const Project& project, const FlowParts& parts,
                                      const ExperimentRequest& request, Progress& progress);

struct BaselineOutcome {
  std::string commit;
  double metric_seconds = 0.0;  ///< of a request; 0 on a memory lane
  std::string metric_text;      ///< "41.2 ms per request", "3.10 images/s", "812.3 MB"
  Calibration noise;
  double detectable_percent = 0.0;  ///< smallest gain seen with a probability of about 0.8
  double oracle_error = 0.0;        ///< of the original's worst single step, relative L2
  std::string scores_json, self_test_json;
  double seconds = 0.0;
};
/// Measures the session's original commit. @throws Error (exit 67) if there is no session,
/// Error (exit 75) if the machine is too noisy or the gate does not hold on it.
BaselineOutcome run_baseline_flow(const Project& project, const FlowParts& parts,
                                  Progress& progress);

/// Closes what a dead run left: open attempts become abandoned, a recorded KEEP whose ref did not
/// move is completed. @return what was done, one sentence each.
std::vector<std::string> settle_session(const Project& project, Ledger& ledger,
                                        const SessionState& session);

}  // namespace ditar
