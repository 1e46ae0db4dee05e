#include "ditar/coordinator/worker_failure.h"

#include <utility>

namespace ditar {

std::string_view to_string(WorkerPhase phase) noexcept {
  switch (phase) {
    case WorkerPhase::kLaunch:
      return "launch";
    case WorkerPhase::kHello:
      return "hello";
    case WorkerPhase::kLoad:
      return "load";
    case WorkerPhase::kRun:
      return "run";
    case WorkerPhase::kStop:
      return "stop";
  }
  return "unknown";
}

std::string_view to_string(WorkerFailureKind kind) noexcept {
  switch (kind) {
    case WorkerFailureKind::kCrash:
      return "crash";
    case WorkerFailureKind::kHang:
      return "hang";
    case WorkerFailureKind::kRefused:
      return "refused";
    case WorkerFailureKind::kProtocol:
      return "protocol";
    case WorkerFailureKind::kLaunch:
      return "launch";
    case WorkerFailureKind::kError:
      return "error";
    case WorkerFailureKind::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

WorkerFailure::WorkerFailure(std::string message, WorkerFailureFacts facts,
                             std::source_location where)
    : Error(std::move(message), ExitCode::kTemporary, where), facts_(std::move(facts)) {}

}  // namespace ditar
