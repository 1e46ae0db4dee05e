// Looks after the other ranks of a group while work goes on, and names the one that keeps the rest
// from going on: gone, frozen, in an op that does not end, or in a wait that cannot end. Lives on
// the heartbeat's thread; one per process.
#pragma once

#include "ditar/parallel/communicator.h"
#include "rank_link.h"

#include <chrono>
#include <string>

namespace ditar {

/// A rank is there but does not go on.
class RankStalled : public Error {
 public:
  RankStalled(int rank, const std::string& message,
              std::source_location where = std::source_location::current())
      : Error(message, ExitCode::kTemporary, where), rank_(rank) {}
  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

class GroupWatch {
 public:
  /// `links` must outlive this.
  explicit GroupWatch(RankLinks& links) : links_(links) {}

  /// To be called twice a second. Gives this process's sign of life and looks at the others: rank 0
  /// at all, the others at rank 0. A pause between calls (this process slept) excuses everybody.
  /// @throws RankStalled, RankGone, and RankFailed of a rank that said why it ends.
  void look();
  /// Kills a stalled rank's process, where this host has it.
  void kill(int rank) const noexcept;

 private:
  RankLinks& links_;
  std::chrono::steady_clock::time_point last_{}, since_{};
};

/// Aborts `communicator` (may be null), which frees a rank that waits inside it, and ends the
/// process with `exit_code`; within two seconds, whatever the abort does.
[[noreturn]] void leave_group(Communicator* communicator, const std::string& why, int exit_code);

}  // namespace ditar
