// Rank arithmetic over the five axes of a plan: data, cfg, tensor, sequence, pipeline. Pure values:
// no MPI, no CUDA, no threads. Ranks are row-major with pipeline outermost and tensor innermost, so
// that the ranks that talk most are neighbours:
//   rank = (((pipeline * D + data) * C + cfg) * S + sequence) * T + tensor
#pragma once

#include "ditar/topology/plan.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ditar {

enum class MeshAxis : std::uint8_t { kPipeline, kData, kCfg, kSequence, kTensor };
inline constexpr std::array<MeshAxis, 5> kMeshAxes = {
    MeshAxis::kPipeline, MeshAxis::kData, MeshAxis::kCfg, MeshAxis::kSequence, MeshAxis::kTensor};
int degree_of(const Plan& plan, MeshAxis axis) noexcept;

/// What a plan must fit, of the model.
struct MeshModel {
  std::int64_t heads = 1;
  std::int64_t mlp_hidden = 1;
  std::int64_t depth = 1;
  std::int64_t tokens = 1;  ///< per image
};

/// A half-open range of indices.
struct MeshRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const noexcept { return end - begin; }
  friend bool operator==(const MeshRange&, const MeshRange&) = default;
};

/// Part `index` of `count` things cut into `parts` contiguous pieces whose sizes differ by at most
/// one, larger ones first. @throws InvalidArgument if index or parts are out of range.
MeshRange split_range(std::int64_t count, int parts, int index);

class DeviceMesh {
 public:
  /// @throws InvalidArgument with the numbers unless the degrees are >= 1, cfg <= 2 and their
  /// product is `world_size`, and unless `rank` is one of them.
  DeviceMesh(const Plan& plan, int world_size, int rank);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return plan_.ranks(); }
  const Plan& plan() const noexcept { return plan_; }
  int degree(MeshAxis axis) const noexcept { return degree_of(plan_, axis); }
  /// This rank's place on an axis.
  int index(MeshAxis axis) const { return index_of(rank_, axis); }
  int index_of(int rank, MeshAxis axis) const;
  /// The rank with this rank's place on all axes but `axis`, and `index` there.
  int peer(MeshAxis axis, int index) const;
  /// All ranks that differ from this one on `axis` only, itself included, by place.
  std::vector<int> group(MeshAxis axis) const;
  /// A number that the ranks of group(axis) share and no other group of the axis has: the color
  /// of Communicator::split(), with index(axis) as its key.
  int color(MeshAxis axis) const;
  /// Part of `count` things that falls to this rank on `axis`.
  MeshRange share(MeshAxis axis, std::int64_t count) const;

  /// @throws InvalidArgument naming the factor and both numbers if heads, MLP channels, layers or
  /// tokens cannot be split by this plan.
  void check_model(const MeshModel& model) const;
  /// The same for what one request brings; `guided`: it has two branches.
  void check_request(std::int64_t images, bool guided) const;

 private:
  Plan plan_;
  int rank_;
};

}  // namespace ditar
