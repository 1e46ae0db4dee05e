// What every Communicator over host memory must do, checked from inside one rank. Shared by the
// in-process and the MPI tests.
#pragma once

#include "ditar/parallel/communicator.h"

#include <cstdint>
#include <vector>

namespace ditar {

/// Values whose sum depends on the order of addition, so that a wrong order shows in the bits.
float awkward(int rank, std::int64_t i);

// Each gives the number of elements that were wrong.
std::int64_t wrong_in_all_reduce(Communicator& comm, std::int64_t count);
std::int64_t wrong_in_all_reduce_16bit(Communicator& comm);
std::int64_t wrong_in_integer_sum(Communicator& comm);
std::int64_t wrong_in_all_gather(Communicator& comm, std::int64_t count);
std::int64_t wrong_in_reduce_scatter(Communicator& comm, std::int64_t count);
std::int64_t wrong_in_all_to_all(Communicator& comm, std::int64_t count);
std::int64_t wrong_in_broadcast(Communicator& comm);
std::int64_t wrong_in_send_recv(Communicator& comm);
std::int64_t wrong_in_ring(Communicator& comm);
std::int64_t wrong_in_split(Communicator& comm);

}  // namespace ditar
