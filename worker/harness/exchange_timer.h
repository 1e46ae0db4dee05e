// Times one kind of exchange between the ranks of a group and looks at every byte that arrives.
// Collective: every rank makes the same calls. Blocks; one thread per rank.
#pragma once

#include "ditar/kernels/device.h"
#include "metered_communicator.h"

#include <chrono>

namespace ditar {

struct ExchangeTime {
  double seconds = 0.0;  ///< of one call, on this rank
  std::int64_t wrong =
      0;  ///< elements (bytes, where nothing is summed) that are not what they must be
};

/// Runs `op` once for a look, `repeats` times against the clock, and once more for a look, with
/// memory of `device` (of the host where the communicator does not enqueue). A broadcast is from
/// rank 0; kSend and kRecv are timed as kSendRecv, to the next rank from the one before; of a
/// ping-pong, half the round trip counts.
/// @throws TimeoutError naming rank and call if the others do not come within `deadline` (a GPU's
/// communicator) or its own deadline (the host's).
ExchangeTime time_exchange(Communicator& group, ExchangeOp op, std::int64_t count, DType dtype,
                           Device device, int repeats, std::chrono::milliseconds deadline);

/// The bytes that nccl-tests calls the size of `op`, and its factor from algorithm to bus
/// bandwidth.
std::int64_t size_of_exchange(ExchangeOp op, int ranks, std::int64_t count, DType dtype);
double bus_factor(ExchangeOp op, int ranks);

}  // namespace ditar
