#include "group_communicator.h"

#include "ditar/config/log.h"
#include "ditar/kernels/device.h"
#include "ditar/parallel/mpi.h"
#include "ditar/parallel/nccl.h"

#include <set>

namespace ditar {

namespace {

/// Whether every rank has a GPU of its own. Collective.
bool own_gpus(Communicator& world, Device device) {
  constexpr std::size_t kRoom = 64;
  std::string mine = device_uuid(device);
  mine.resize(kRoom);
  std::string all(kRoom * static_cast<std::size_t>(world.size()), ' ');
  world.all_gather(mine.data(), all.data(), kRoom, DType::kU8, {});
  std::set<std::string> seen;
  for (std::size_t at = 0; at < all.size(); at += kRoom) seen.insert(all.substr(at, kRoom));
  return static_cast<int>(seen.size()) == world.size();
}

}  // namespace

std::unique_ptr<Communicator> make_group_communicator(const std::string& device, int size,
                                                      std::chrono::milliseconds deadline) {
  if (size == 1) return nullptr;
  auto host = make_mpi_communicator(deadline);
  const Device place = parse_device(device);
  if (place.type == DeviceType::kCpu) return host;
  if (own_gpus(*host, place) && nccl_built()) {
    return make_nccl_communicator(std::move(host), place, deadline);
  }
  log_info(nccl_built() ? "two ranks share a GPU: ranks exchange through host memory"
                        : "this build has no NCCL: ranks exchange through host memory");
  return host;
}

}  // namespace ditar
