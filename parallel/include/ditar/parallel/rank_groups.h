// The communicators of one rank along the axes of its mesh. One thread at a time.
#pragma once

#include "ditar/parallel/communicator.h"
#include "ditar/parallel/device_mesh.h"

#include <array>
#include <memory>

namespace ditar {

class RankGroups {
 public:
  /// Collective over `world`, which may be null for one rank and must outlive this.
  /// @param device where the tensors are that the ranks exchange: a host communicator is staged
  /// for a GPU. @throws InvalidArgument if the plan does not fit the world.
  RankGroups(const Plan& plan, Communicator* world, Device device);

  const DeviceMesh& mesh() const noexcept { return mesh_; }
  /// This rank's group along `axis`, in the order of places; null where the axis has one rank.
  Communicator* along(MeshAxis axis) const noexcept {
    return groups_[static_cast<std::size_t>(axis)].get();
  }
  /// True if every group's calls may be captured into a graph.
  bool capturable() const noexcept;

 private:
  DeviceMesh mesh_;
  std::array<std::unique_ptr<Communicator>, kMeshAxes.size()> groups_;
};

}  // namespace ditar
