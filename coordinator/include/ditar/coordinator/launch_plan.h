// Everything that decides how a worker group is started. A value made by the coordinator; nothing
// in it comes from the candidate. Thread-safe: no behaviour.
#pragma once

#include "ditar/coordinator/isolation.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ditar {

/// Where one rank runs.
struct RankPlacement {
  std::string device = "cpu";  ///< "cpu" or a GPU's UUID ("GPU-...")
  int threads = 1;             ///< OpenMP threads; 1 also means passive waiting
  std::vector<int> cpus;       ///< the CPUs it is pinned to; empty: as inherited
};

/// One host of the group, with the number of ranks on it.
struct HostSlots {
  std::string host;
  int slots = 1;
};

/// How long each phase may take, on the steady clock.
struct LaunchDeadlines {
  std::chrono::milliseconds hello{30'000};     ///< from spawn to the whole group's hello
  std::chrono::milliseconds load{120'000};     ///< one load
  std::chrono::milliseconds progress{30'000};  ///< longest run without a finished step
  std::chrono::milliseconds run{300'000};      ///< one request in all
  std::chrono::milliseconds stop{5'000};       ///< clean end, and again from SIGTERM to SIGKILL
};

struct LaunchPlan {
  std::filesystem::path worker;           ///< the binary, absolute
  std::vector<RankPlacement> placements;  ///< one per rank, in rank order
  std::vector<HostSlots> hosts;           ///< empty: this host alone
  /// Variables set for the group, beside the few that the launch itself needs.
  std::map<std::string, std::string> environment;
  /// Names passed on from this process where they are set; all others are dropped.
  std::vector<std::string> environment_allow = {"PATH", "HOME", "LANG", "LC_ALL",
                                                "LD_LIBRARY_PATH"};
  std::filesystem::path run_directory;  ///< existing; launcher.log and worker logs go there
  std::string expected_build_hash;      ///< SHA-256 of the binary; empty: of `worker` now
  std::vector<std::string> wrapper;     ///< argv put in front of mpirun's
  Isolation isolate;                    ///< the fence around mpirun and all it starts, on one host
  std::vector<std::filesystem::path> readable;  ///< what ranks read beside the worker: weights
  std::string mpirun;                           ///< absolute path; empty: the first on PATH
  std::string network_interface;                ///< for groups over several hosts; empty: any
  std::int64_t log_cap_bytes = 8 << 20;         ///< output beyond this is read and dropped
  LaunchDeadlines deadlines;
  /// Set by the caller's signal handler to end any blocking call soon; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace ditar
