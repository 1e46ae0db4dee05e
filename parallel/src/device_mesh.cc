#include "ditar/parallel/device_mesh.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <string>

namespace ditar {

namespace {

/// The factor's name in a plan's text.
std::string factor_of(const Plan& plan, MeshAxis axis) {
  switch (axis) {
    case MeshAxis::kPipeline:
      return "pipeline";
    case MeshAxis::kData:
      return "data";
    case MeshAxis::kCfg:
      return "cfg";
    case MeshAxis::kSequence:
      return plan.sequence_kind == SequenceKind::kRing ? "ring" : "ulysses";
    case MeshAxis::kTensor:
      return "tensor";
  }
  return "unknown";
}

std::string factor_text(const Plan& plan, MeshAxis axis) {
  return factor_of(plan, axis) + "=" + std::to_string(degree_of(plan, axis));
}

/// Ranks between two neighbours on an axis.
int stride_of(const Plan& plan, MeshAxis axis) {
  int stride = 1;
  for (std::size_t i = kMeshAxes.size(); i-- > 0 && kMeshAxes[i] != axis;) {
    stride *= degree_of(plan, kMeshAxes[i]);
  }
  return stride;
}

void check_divides(const std::string& what, std::int64_t count, const Plan& plan, MeshAxis axis) {
  require(count % degree_of(plan, axis) == 0,
          std::to_string(count) + " " + what + " cannot be split over " + factor_text(plan, axis) +
              "; choose a degree that divides them");
}

void check_enough(const char* what, std::int64_t count, const Plan& plan, MeshAxis axis) {
  require(degree_of(plan, axis) <= count, factor_text(plan, axis) +
                                              " leaves ranks idle: there are only " +
                                              std::to_string(count) + " " + what);
}

}  // namespace

int degree_of(const Plan& plan, MeshAxis axis) noexcept {
  switch (axis) {
    case MeshAxis::kPipeline:
      return plan.pipeline;
    case MeshAxis::kData:
      return plan.data;
    case MeshAxis::kCfg:
      return plan.cfg;
    case MeshAxis::kSequence:
      return plan.sequence;
    case MeshAxis::kTensor:
      return plan.tensor;
  }
  return 1;
}

MeshRange split_range(std::int64_t count, int parts, int index) {
  require(count >= 0 && parts >= 1 && index >= 0 && index < parts,
          "part " + std::to_string(index) + " of " + std::to_string(parts) + " of " +
              std::to_string(count) + " does not exist");
  const std::int64_t small = count / parts;
  const std::int64_t larger = count % parts;
  const std::int64_t begin = index * small + std::min<std::int64_t>(index, larger);
  return {begin, begin + small + (index < larger ? 1 : 0)};
}

DeviceMesh::DeviceMesh(const Plan& plan, int world_size, int rank) : plan_(plan), rank_(rank) {
  for (const MeshAxis axis : kMeshAxes) {
    require(degree(axis) >= 1, factor_text(plan, axis) + " is no degree; it must be at least 1");
  }
  require(plan.cfg <= 2,
          "cfg=" + std::to_string(plan.cfg) + " is too many: guidance has two branches");
  std::int64_t product = 1;
  for (const MeshAxis axis : kMeshAxes) {
    product *= degree(axis);
    require(product <= world_size, "plan " + format_plan(plan) +
                                       " needs more ranks than there are (" +
                                       std::to_string(world_size) + ")");
  }
  require(product == world_size, "plan " + format_plan(plan) + " needs " + std::to_string(product) +
                                     " ranks, there are " + std::to_string(world_size));
  require(rank >= 0 && rank < world_size,
          "rank " + std::to_string(rank) + " is not one of " + std::to_string(world_size));
}

int DeviceMesh::index_of(int rank, MeshAxis axis) const {
  return rank / stride_of(plan_, axis) % degree(axis);
}

int DeviceMesh::peer(MeshAxis axis, int index) const {
  require(index >= 0 && index < degree(axis), factor_of(plan_, axis) + " has no place " +
                                                  std::to_string(index) + " among " +
                                                  std::to_string(degree(axis)));
  return rank_ + (index - this->index(axis)) * stride_of(plan_, axis);
}

std::vector<int> DeviceMesh::group(MeshAxis axis) const {
  std::vector<int> ranks;
  for (int i = 0; i < degree(axis); ++i) ranks.push_back(peer(axis, i));
  return ranks;
}

int DeviceMesh::color(MeshAxis axis) const { return peer(axis, 0); }

MeshRange DeviceMesh::share(MeshAxis axis, std::int64_t count) const {
  return split_range(count, degree(axis), index(axis));
}

void DeviceMesh::check_model(const MeshModel& model) const {
  check_divides("heads", model.heads, plan_, MeshAxis::kTensor);
  check_divides("MLP channels", model.mlp_hidden, plan_, MeshAxis::kTensor);
  check_enough("layers", model.depth, plan_, MeshAxis::kPipeline);
  check_enough("tokens", model.tokens, plan_, MeshAxis::kSequence);
  if (plan_.sequence_kind == SequenceKind::kUlysses) {
    check_divides(plan_.tensor > 1 ? "heads of each tensor rank" : "heads",
                  model.heads / plan_.tensor, plan_, MeshAxis::kSequence);
  }
}

void DeviceMesh::check_request(std::int64_t images, bool guided) const {
  check_enough("images in a request", images, plan_, MeshAxis::kData);
  require(plan_.cfg == 1 || guided,
          "cfg=2 needs guidance other than 1: without it there is one branch only; use data=2 or "
          "one rank");
}

}  // namespace ditar
