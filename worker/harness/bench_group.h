// The ranks of work by hand (bench, probe, plan): alone without MPI, or under mpirun or srun, where
// they look after each other: a rank that is gone, frozen or stuck ends all of them with its name.
// Main thread only.
#pragma once

#include "ditar/parallel/bootstrap.h"
#include "ditar/parallel/communicator.h"
#include "group_watch.h"
#include "heartbeat.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

class MpiRuntime;

class BenchGroup {
 public:
  /// Blocks SIGTERM, which launchers send when a rank is gone: its name comes first.
  /// @throws Unavailable if the launcher's environment and MPI do not fit together.
  BenchGroup();
  ~BenchGroup();
  BenchGroup(const BenchGroup&) = delete;
  BenchGroup& operator=(const BenchGroup&) = delete;

  int rank() const;
  int size() const;
  /// Connects the ranks' devices and starts to look after them; once.
  void connect(const std::string& device);
  /// Null for one rank and before connect().
  Communicator* communicator() const noexcept { return communicator_.get(); }
  void barrier();
  /// Every rank's text, by rank.
  std::vector<std::string> gather(const std::string& mine);
  /// Stops looking after each other, so that a rank may end. Collective; once, after the work.
  void finish();
  /// Ends the process; says why on stderr.
  [[noreturn]] void leave(const std::string& why, int exit_code);

 private:
  void look() noexcept;
  void stop_watch();

  std::unique_ptr<MpiRuntime> mpi_;
  std::unique_ptr<Bootstrap> bootstrap_;
  RankLinks links_;
  std::unique_ptr<PulseBinding> pulse_;
  std::unique_ptr<Communicator> communicator_;
  std::atomic<Communicator*> abortable_ = nullptr;  ///< the same, for the heartbeat's thread
  std::unique_ptr<GroupWatch> watch_;
  std::unique_ptr<Heartbeat> heartbeat_;
  std::unique_ptr<Heartbeat::Work> work_;
};

}  // namespace ditar
