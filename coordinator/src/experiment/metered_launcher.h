// Counts the time for which a flow waits for worker groups, so that what is left is the
// coordinator's own. Private to coordinator/src/experiment; one thread.
#pragma once

#include "ditar/coordinator/worker_launcher.h"

#include <memory>

namespace ditar {

/// `inner` with every launch, request and stop added to `seconds`, which must outlive the launcher
/// and its sessions.
std::unique_ptr<WorkerLauncher> meter_launcher(std::unique_ptr<WorkerLauncher> inner,
                                               double& seconds);

}  // namespace ditar
