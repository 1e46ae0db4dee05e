#include "ditar/parallel/device_mesh.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <charconv>

namespace ditar {

namespace {

constexpr std::array<MeshAxis, kMeshAxes> kOuterToInner = {
    MeshAxis::kPipeline, MeshAxis::kData, MeshAxis::kCfg, MeshAxis::kSequence, MeshAxis::kTensor};

int& degree_ref(MeshDegrees& degrees, MeshAxis axis) {
  switch (axis) {
    case MeshAxis::kPipeline:
      return degrees.pipeline;
    case MeshAxis::kData:
      return degrees.data;
    case MeshAxis::kCfg:
      return degrees.cfg;
    case MeshAxis::kSequence:
      return degrees.sequence;
    case MeshAxis::kTensor:
      return degrees.tensor;
  }
  throw InvalidArgument("no such mesh axis");
}

/// Ranks between two neighbours on an axis.
int stride_of(const MeshDegrees& degrees, MeshAxis axis) {
  int stride = 1;
  for (std::size_t i = kMeshAxes; i-- > 0;) {
    if (kOuterToInner[i] == axis) return stride;
    stride *= degrees.of(kOuterToInner[i]);
  }
  throw InvalidArgument("no such mesh axis");
}

void check_divides(const char* what, std::int64_t count, MeshAxis axis, int degree) {
  require(count % degree == 0, std::to_string(count) + " " + what + " cannot be split over " +
                                   std::string(to_string(axis)) + "=" + std::to_string(degree) +
                                   "; choose a degree that divides them");
}

void check_enough(const char* what, std::int64_t count, MeshAxis axis, int degree) {
  require(degree <= count, std::string(to_string(axis)) + "=" + std::to_string(degree) +
                               " leaves ranks idle: there are only " + std::to_string(count) + " " +
                               what);
}

}  // namespace

std::string_view to_string(MeshAxis axis) noexcept {
  switch (axis) {
    case MeshAxis::kPipeline:
      return "pipeline";
    case MeshAxis::kData:
      return "data";
    case MeshAxis::kCfg:
      return "cfg";
    case MeshAxis::kSequence:
      return "sequence";
    case MeshAxis::kTensor:
      return "tensor";
  }
  return "unknown";
}

int MeshDegrees::of(MeshAxis axis) const {
  MeshDegrees copy = *this;
  return degree_ref(copy, axis);
}

std::string to_string(const MeshDegrees& degrees) {
  std::string text;
  for (const MeshAxis axis : {MeshAxis::kData, MeshAxis::kCfg, MeshAxis::kTensor,
                              MeshAxis::kSequence, MeshAxis::kPipeline}) {
    if (degrees.of(axis) == 1) continue;
    if (!text.empty()) text += ",";
    text += std::string(to_string(axis)) + "=" + std::to_string(degrees.of(axis));
  }
  return text.empty() ? "single" : text;
}

MeshDegrees parse_mesh_degrees(std::string_view text) {
  MeshDegrees degrees;
  if (text.empty() || text == "single") return degrees;
  std::array<bool, kMeshAxes> seen{};
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const auto equals = part.find('=');
    bool known = false;
    for (std::size_t i = 0; i < kMeshAxes && equals != std::string_view::npos; ++i) {
      if (to_string(kOuterToInner[i]) != part.substr(0, equals)) continue;
      const auto number = part.substr(equals + 1);
      int value = 0;
      const auto [end, fault] =
          std::from_chars(number.data(), number.data() + number.size(), value);
      known =
          fault == std::errc() && end == number.data() + number.size() && value >= 1 && !seen[i];
      seen[i] = true;
      degree_ref(degrees, kOuterToInner[i]) = value;
    }
    require(known, "plan part \"" + std::string(part) +
                       "\" is not one of data=N, cfg=N, tensor=N, sequence=N, pipeline=N, each "
                       "given once");
  }
  return degrees;
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

DeviceMesh::DeviceMesh(MeshDegrees degrees, int world_size, int rank)
    : degrees_(degrees), rank_(rank) {
  for (const MeshAxis axis : kOuterToInner) {
    require(degrees.of(axis) >= 1, std::string(to_string(axis)) + "=" +
                                       std::to_string(degrees.of(axis)) +
                                       " is no degree; it must be at least 1");
  }
  require(degrees.cfg <= 2,
          "cfg=" + std::to_string(degrees.cfg) + " is too many: guidance has two branches");
  std::int64_t product = 1;
  for (const MeshAxis axis : kOuterToInner) {
    product *= degrees.of(axis);
    require(product <= world_size, "plan " + to_string(degrees) + " needs more than the " +
                                       std::to_string(world_size) + " ranks there are");
  }
  require(product == world_size, "plan " + to_string(degrees) + " needs " +
                                     std::to_string(product) + " ranks, there are " +
                                     std::to_string(world_size));
  require(rank >= 0 && rank < world_size,
          "rank " + std::to_string(rank) + " is not one of " + std::to_string(world_size));
}

int DeviceMesh::index_of(int rank, MeshAxis axis) const {
  return rank / stride_of(degrees_, axis) % degrees_.of(axis);
}

int DeviceMesh::peer(MeshAxis axis, int index) const {
  require(index >= 0 && index < degree(axis), std::string(to_string(axis)) + " has no place " +
                                                  std::to_string(index) + " among " +
                                                  std::to_string(degree(axis)));
  return rank_ + (index - this->index(axis)) * stride_of(degrees_, axis);
}

std::vector<int> DeviceMesh::group(MeshAxis axis) const {
  std::vector<int> ranks;
  for (int i = 0; i < degree(axis); ++i) ranks.push_back(peer(axis, i));
  return ranks;
}

int DeviceMesh::color(MeshAxis axis) const { return peer(axis, 0); }

void DeviceMesh::check(const MeshLimits& limits) const {
  check_divides("heads", limits.heads, MeshAxis::kTensor, degrees_.tensor);
  check_divides("hidden channels", limits.hidden, MeshAxis::kTensor, degrees_.tensor);
  check_divides("MLP channels", limits.mlp_hidden, MeshAxis::kTensor, degrees_.tensor);
  check_enough("layers", limits.depth, MeshAxis::kPipeline, degrees_.pipeline);
  check_enough("tokens", limits.tokens, MeshAxis::kSequence, degrees_.sequence);
  check_enough("images in a request", limits.images, MeshAxis::kData, degrees_.data);
  require(degrees_.cfg == 1 || limits.guided,
          "cfg=2 needs guidance above 1: without it there is one branch only");
}

}  // namespace ditar
