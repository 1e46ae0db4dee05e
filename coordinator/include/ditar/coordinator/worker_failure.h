// How a worker group can fail, as one exception type. A value; thread-safe.
#pragma once

#include "ditar/config/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace ditar {

/// When it happened.
enum class WorkerPhase : std::uint8_t { kLaunch, kHello, kLoad, kRun, kStop };
/// What happened. kCrash: a process ended; kHang: no progress within the deadline; kRefused: one
/// side refused the other (version, build, placement); kProtocol: broken frames or answers;
/// kLaunch: the launcher could not start the group (the machine's fault, not a candidate's);
/// kError: the engine reported an error in an orderly way; kCancelled: the caller asked to stop.
enum class WorkerFailureKind : std::uint8_t {
  kCrash,
  kHang,
  kRefused,
  kProtocol,
  kLaunch,
  kError,
  kCancelled
};

/// "launch", "hello", "load", "run", "stop".
std::string_view to_string(WorkerPhase phase) noexcept;
/// "crash", "hang", "refused", "protocol", "launch", "error", "cancelled".
std::string_view to_string(WorkerFailureKind kind) noexcept;

/// The particulars of a failure; numbers are -1 where they are not known.
struct WorkerFailureFacts {
  WorkerPhase phase = WorkerPhase::kLaunch;
  WorkerFailureKind kind = WorkerFailureKind::kLaunch;
  int rank = -1;
  int signal = -1;
  int exit_code = -1;    ///< of the launcher, where it ended by itself
  std::string log_tail;  ///< last lines the group wrote; empty if it wrote nothing
};

class WorkerFailure : public Error {
 public:
  WorkerFailure(std::string message, WorkerFailureFacts facts,
                std::source_location where = std::source_location::current());

  WorkerPhase phase() const noexcept { return facts_.phase; }
  WorkerFailureKind kind() const noexcept { return facts_.kind; }
  int rank() const noexcept { return facts_.rank; }
  int signal() const noexcept { return facts_.signal; }
  /// The exit code of the launcher; -1 if it did not end by itself.
  int worker_exit_code() const noexcept { return facts_.exit_code; }
  const std::string& log_tail() const noexcept { return facts_.log_tail; }
  const WorkerFailureFacts& facts() const noexcept { return facts_; }

 private:
  WorkerFailureFacts facts_;
};

}  // namespace ditar
