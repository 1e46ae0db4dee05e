// Rank arithmetic over the five axes of a plan: data, cfg, tensor, sequence, pipeline. Pure values:
// no MPI, no CUDA, no threads. Ranks are row-major with pipeline outermost and tensor innermost, so
// that the ranks that talk most are neighbours:
//   rank = (((pipeline * D + data) * C + cfg) * S + sequence) * T + tensor
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

enum class MeshAxis : std::uint8_t { kPipeline, kData, kCfg, kSequence, kTensor };
inline constexpr std::size_t kMeshAxes = 5;
/// "pipeline", "data", "cfg", "sequence", "tensor".
std::string_view to_string(MeshAxis axis) noexcept;

/// How many ranks each axis has.
struct MeshDegrees {
  int pipeline = 1;
  int data = 1;
  int cfg = 1;
  int sequence = 1;
  int tensor = 1;
  int of(MeshAxis axis) const;
  int product() const noexcept { return pipeline * data * cfg * sequence * tensor; }
  friend bool operator==(const MeshDegrees&, const MeshDegrees&) = default;
};

/// "single", or the degrees above 1 as "cfg=2,tensor=2" (the text a plan is given as).
std::string to_string(const MeshDegrees& degrees);
/// @throws InvalidArgument naming the part that is not "axis=number" or comes twice.
MeshDegrees parse_mesh_degrees(std::string_view text);

/// What a plan must fit.
struct MeshLimits {
  std::int64_t images = 1;  ///< of one request
  std::int64_t heads = 1;
  std::int64_t hidden = 1;
  std::int64_t mlp_hidden = 1;
  std::int64_t depth = 1;
  std::int64_t tokens = 1;  ///< per image
  bool guided = false;      ///< two branches exist only with guidance
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
  DeviceMesh(MeshDegrees degrees, int world_size, int rank);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return degrees_.product(); }
  const MeshDegrees& degrees() const noexcept { return degrees_; }
  int degree(MeshAxis axis) const { return degrees_.of(axis); }
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

  /// @throws InvalidArgument naming the axis and both numbers if heads, hidden sizes, layers,
  /// tokens or images cannot be split by these degrees.
  void check(const MeshLimits& limits) const;

 private:
  MeshDegrees degrees_;
  int rank_;
};

}  // namespace ditar
