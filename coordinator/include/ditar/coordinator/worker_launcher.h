// Starts worker groups of one lane with a model loaded. The flows see this interface alone, so that
// tests run them against scripted workers. One thread at a time; the groups themselves are
// independent of each other and of the launcher.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/config/settings.h"
#include "ditar/coordinator/isolation.h"
#include "ditar/coordinator/task.h"
#include "ditar/coordinator/worker_session.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

/// One side of a comparison: a built worker with its knobs.
struct Arm {
  std::string name;  ///< "original", "best", "candidate": names of log folders
  std::filesystem::path worker;
  std::string worker_sha256;
  std::filesystem::path knobs;  ///< engine.json of the same tree
};

struct StartOptions {
  std::string precision;  ///< empty: the lane's
  int threads = 0;        ///< 0: the lane's
  std::filesystem::path log_directory;
  std::filesystem::path model = {};  ///< other weights than the lane's; empty: the lane's
};

/// A loaded group and what its loading told.
struct LoadedWorker {
  std::unique_ptr<WorkerSession> session;
  LoadResult load;
};

class WorkerLauncher {
 public:
  virtual ~WorkerLauncher() = default;
  /// Launches and loads. Blocks. @throws WorkerFailure, Unavailable.
  virtual LoadedWorker start(const Arm& arm, const StartOptions& options) = 0;
};

/// The real one: mpirun on this host, the lane's ranks pinned to the last CPUs of `cpus`.
/// @param model    absolute path of the lane's weights; ranks may read it, its knobs and nothing
/// else
/// @param isolate  the fence around every group
/// @param devices  UUID of each rank's GPU, in rank order; empty: every rank is on the CPU
/// @throws Unavailable if the lane has GPUs and `devices` does not name one for each
std::unique_ptr<WorkerLauncher> make_lane_launcher(const LaneConfig& lane,
                                                   const LaunchSettings& launch,
                                                   std::filesystem::path model,
                                                   std::vector<int> cpus, Isolation isolate,
                                                   std::vector<std::string> devices = {});

/// The CPUs that the lane's ranks get, and those left for the coordinator (all, if none are left).
struct CpuShare {
  std::vector<int> workers, coordinator;
};
CpuShare share_cpus(const LaneConfig& lane, const std::vector<int>& cpus);

/// The unit of work of a lane.
Task task_of(const LaneConfig& lane);

}  // namespace ditar
