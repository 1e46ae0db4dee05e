#include "group_communicator.h"

#include "ditar/config/error.h"
#include "ditar/parallel/mpi.h"

namespace ditar {

std::unique_ptr<Communicator> make_group_communicator(const std::string& device, int size,
                                                      std::chrono::milliseconds deadline) {
  if (size == 1) return nullptr;
  if (device == "cpu") return make_mpi_communicator(deadline);
  throw Unavailable("a group of " + std::to_string(size) +
                    " GPUs needs NCCL, which this build does not have; build with the cuda preset");
}

}  // namespace ditar
