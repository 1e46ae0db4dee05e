// A whole session without mpirun or compiler: a scratch repository, a worker whose speed stands in
// a file of the commit, a judge that passes everything. Baselines and experiments run through the
// real flows, ledger and refs.
#pragma once

#include "ditar/coordinator/experiment_flow.h"
#include "scratch_repository.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace ditar {

/// What the scripted world does; change it between runs.
struct ScriptedWorld {
  double noise = 0.002;        ///< sd of ln t of one request
  double process_noise = 0.0;  ///< sd of ln t of one launched group
  std::mt19937_64 random{7};
  int starts = 0;
  int rebuilt = 0;
  bool lies = false;               ///< the candidate's outputs differ from the best's
  bool keeps_old_weights = false;  ///< the candidate answers as with the lane's own
  bool lies_when_timed = false;    ///< by little, and not after a single step as the suite has them
  std::vector<TrustedTool> tools;  ///< that the machine has
  TimeFloor rate;                  ///< of the machine; all zero: times have no floor
  LoadReply model;                 ///< what the worker says it loaded
  WorkerTraces traces;             ///< that the candidate leaves
  double seconds = 0.0;            ///< the clock of the time limit
  double build_seconds = 0.0;      ///< what a build takes of it
  double request_seconds = 0.0;    ///< what a candidate's request takes of it
};

class ScriptedFlow {
 public:
  ScriptedFlow();
  Project project() const;
  FlowParts parts();
  BaselineOutcome baseline();
  /// Commits a worker that is faster than the original by `gain` (a log ratio) and runs it.
  ExperimentOutcome experiment(double gain, const std::string& description = "try");
  void commit(double gain, const std::string& message);
  /// Commits a worker that does not build; `variant` tells such commits apart.
  void commit_broken(const std::string& variant);
  /// Runs HEAD.
  ExperimentOutcome run(const std::string& description);
  std::vector<Record> records() const;

  ScratchRepository scratch;
  ScriptedWorld world;
  Settings settings;

 private:
  std::uint64_t draws_ = 40;
};

}  // namespace ditar
