// Ranks as threads of one process: the Bootstrap and Communicator kinds that need no launcher. A
// group is shared by its ranks' objects; each object belongs to one thread. Every wait has the
// group's deadline, and abort() of any rank wakes all. Host memory only.
#pragma once

#include "ditar/parallel/bootstrap.h"
#include "ditar/parallel/communicator.h"

#include <chrono>
#include <memory>
#include <vector>

namespace ditar {

/// One Bootstrap per rank, in rank order. @throws InvalidArgument if size < 1.
std::vector<std::unique_ptr<Bootstrap>> make_in_process_bootstraps(
    int size, std::chrono::milliseconds deadline);

/// One Communicator per rank, in rank order. A wait longer than `deadline` aborts the group and
/// throws TimeoutError naming the rank and the collective. @throws InvalidArgument if size < 1.
std::vector<std::unique_ptr<Communicator>> make_in_process_communicators(
    int size, std::chrono::milliseconds deadline);

}  // namespace ditar
