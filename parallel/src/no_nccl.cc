#include "ditar/config/error.h"
#include "ditar/parallel/nccl.h"

namespace ditar {

bool nccl_built() noexcept { return false; }
std::string nccl_library() { return {}; }

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator>, Device,
                                                     std::chrono::milliseconds) {
  throw Unavailable("this build has no NCCL; build with the cuda preset on a machine that has it");
}

}  // namespace ditar
