// How one request is divided over ranks: which images and guidance branches a rank computes, and
// which weights it holds. Pure values.
#pragma once

#include "ditar/parallel/device_mesh.h"

#include <cstdint>
#include <string>

namespace ditar {

/// A plan's text (see parse_plan). Empty: "single" for one rank, "data=N" for more.
/// @throws InvalidArgument with the numbers if the text is no plan.
Plan parse_split(const std::string& text, int ranks);

/// What rank `rank` does.
struct Shard {
  std::int64_t first_image = 0;
  std::int64_t images = 0;  ///< sizes differ by one at most, earlier groups have more
  bool conditional = true;
  bool unconditional = true;
};
/// The request must have been checked (DeviceMesh::check_request).
Shard shard_of(const DeviceMesh& mesh, int rank, std::int64_t images, bool guided);
/// Whether `rank` is the one of its data group that hands the result in.
bool leads_images(const DeviceMesh& mesh, int rank);

/// The part of the blocks' weights that a rank holds: whole layers (pipeline), and of each layer
/// the rows or columns of one part of the heads and MLP channels (tensor).
struct WeightShard {
  MeshRange layers = {};
  int part = 0, parts = 1;
  bool first_stage = true, last_stage = true;
};
WeightShard weight_shard(const DeviceMesh& mesh, std::int64_t depth);

}  // namespace ditar
