// Device memory over a host communicator: through page-locked host memory, waiting at each call.
// Where GPUs have no link of their own kind, or two ranks share one GPU.
#pragma once

#include "ditar/parallel/communicator.h"

#include <memory>

namespace ditar {

/// Calls on a CPU stream go straight to `host`; on a CUDA stream they wait for it, move the bytes
/// and wait again.
std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host);

}  // namespace ditar
