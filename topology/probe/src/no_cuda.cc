#include "ditar/config/error.h"
#include "ditar/topology_probe/probe.h"

namespace ditar {

std::unique_ptr<PeerCopier> make_cuda_copier(std::size_t /*largest_bytes*/) {
  throw Unavailable("this build has no CUDA; configure with the preset cuda to probe peer copies");
}

}  // namespace ditar
