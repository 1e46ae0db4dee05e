// Ranks as threads of this process, for work by hand without a launcher.
#pragma once

#include "ditar/parallel/communicator.h"

#include <chrono>
#include <functional>

namespace ditar {

/// Runs `body` on each of `ranks` threads with a communicator of host memory and returns when all
/// have ended. @throws what the first rank that failed threw.
void on_rank_threads(int ranks, std::chrono::milliseconds deadline,
                     const std::function<void(Communicator&)>& body);

}  // namespace ditar
