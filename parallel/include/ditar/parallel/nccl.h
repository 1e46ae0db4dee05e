// GPU collectives by NCCL, enqueued on the stream and fit for capture into a graph. Calls with a
// CPU stream go to the host communicator that it is made from. Sums of three or more ranks are
// added in NCCL's order, not in rank order; of two ranks the order does not change the bits.
#pragma once

#include "ditar/parallel/communicator.h"

#include <chrono>
#include <memory>
#include <string>

namespace ditar {

/// True in a build with NCCL.
bool nccl_built() noexcept;
/// "NCCL 2.28.9", or empty without it.
std::string nccl_library();

/// One GPU for each rank of `host`; the connection is made at the first call on the GPU,
/// collective, within `deadline`. abort() frees a rank that waits inside NCCL.
/// @throws Unavailable in a build without NCCL; NcclError with NCCL's own text; TimeoutError.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> host,
                                                     Device device,
                                                     std::chrono::milliseconds deadline);

}  // namespace ditar
