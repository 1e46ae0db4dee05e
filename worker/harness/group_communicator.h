// The communicator of a group of MPI ranks for the device they run on. Stateless.
#pragma once

#include "ditar/parallel/communicator.h"

#include <chrono>
#include <memory>
#include <string>

namespace ditar {

/// Null for one rank; MPI over host memory on the CPU; NCCL where every rank has a GPU of its own,
/// else MPI, which the engine stages. Collective.
std::unique_ptr<Communicator> make_group_communicator(const std::string& device, int size,
                                                      std::chrono::milliseconds deadline);

}  // namespace ditar
