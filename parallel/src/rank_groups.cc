#include "ditar/parallel/rank_groups.h"

#include "ditar/parallel/staged.h"

namespace ditar {

RankGroups::RankGroups(const Plan& plan, Communicator* world, Device device)
    : mesh_(plan, world == nullptr ? 1 : world->size(), world == nullptr ? 0 : world->rank()) {
  for (const MeshAxis axis : kMeshAxes) {
    if (mesh_.degree(axis) == 1) continue;
    auto group = world->split(mesh_.color(axis), mesh_.index(axis));
    const bool staged = device.type != DeviceType::kCpu && !group->enqueues();
    groups_[static_cast<std::size_t>(axis)] =
        staged ? make_staged_communicator(std::move(group)) : std::move(group);
  }
}

bool RankGroups::capturable() const noexcept {
  for (const auto& group : groups_) {
    if (group && !group->enqueues()) return false;
  }
  return true;
}

}  // namespace ditar
