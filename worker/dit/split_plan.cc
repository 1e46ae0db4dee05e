#include "split_plan.h"

namespace ditar {

Plan parse_split(const std::string& text, int ranks) {
  if (!text.empty()) return parse_plan(text);
  Plan plan;
  plan.data = ranks;
  return plan;
}

Shard shard_of(const DeviceMesh& mesh, int rank, std::int64_t images, bool guided) {
  const MeshRange own =
      split_range(images, mesh.degree(MeshAxis::kData), mesh.index_of(rank, MeshAxis::kData));
  const bool both = mesh.degree(MeshAxis::kCfg) == 1;
  const int branch = mesh.index_of(rank, MeshAxis::kCfg);
  return {.first_image = own.begin,
          .images = own.count(),
          .conditional = both || branch == 0,
          .unconditional = guided && (both || branch == 1)};
}

bool leads_images(const DeviceMesh& mesh, int rank) {
  for (const MeshAxis axis : kMeshAxes) {
    if (axis != MeshAxis::kData && mesh.index_of(rank, axis) != 0) return false;
  }
  return true;
}

WeightShard weight_shard(const DeviceMesh& mesh, std::int64_t depth) {
  const int stage = mesh.index(MeshAxis::kPipeline);
  return {.layers = mesh.share(MeshAxis::kPipeline, depth),
          .part = mesh.index(MeshAxis::kTensor),
          .parts = mesh.degree(MeshAxis::kTensor),
          .first_stage = stage == 0,
          .last_stage = stage + 1 == mesh.degree(MeshAxis::kPipeline)};
}

}  // namespace ditar
