#include "ditar/planner/job.h"

#include "ditar/config/error.h"

#include <string>

namespace ditar {

std::int64_t ModelShape::outer_parameters() const noexcept {
  constexpr std::int64_t kFrequencies = 256;
  const std::int64_t patch_area = patch * patch;
  const std::int64_t patch_embed = (in_channels * patch_area + 1) * hidden;
  const std::int64_t timestep = (kFrequencies + 1) * hidden + (hidden + 1) * hidden;
  const std::int64_t labels = (classes + 1) * hidden;
  const std::int64_t last = (hidden + 1) * 2 * hidden + (hidden + 1) * patch_area * out_channels;
  return patch_embed + timestep + labels + last;
}

ModelShape dit_model(std::string_view name) {
  const std::string_view patch =
      name.substr(name.find('/') == std::string_view::npos ? name.size() : name.find('/') + 1);
  ModelShape shape;
  if (name.substr(0, 6) == "DiT-S/") shape = {384, 12, 6, 0, 4, 8, 1000};
  if (name.substr(0, 6) == "DiT-B/") shape = {768, 12, 12, 0, 4, 8, 1000};
  if (name.substr(0, 6) == "DiT-L/") shape = {1024, 24, 16, 0, 4, 8, 1000};
  if (name.substr(0, 7) == "DiT-XL/") shape = {1152, 28, 16, 0, 4, 8, 1000};
  if (patch == "2" || patch == "4" || patch == "8") shape.patch = patch.front() - '0';
  require(shape.hidden > 0 && shape.patch > 0,
          "model \"" + std::string(name) +
              "\" is not DiT-S, B, L or XL with patch 2, 4 or 8, as in "
              "DiT-XL/2");
  return shape;
}

std::int64_t tokens_of(const ModelShape& model, const LaneShape& lane) {
  require(model.patch > 0 && lane.height > 0 && lane.width > 0 && lane.height % model.patch == 0 &&
              lane.width % model.patch == 0,
          "latents of " + std::to_string(lane.height) + " x " + std::to_string(lane.width) +
              " are not divisible by the patch of " + std::to_string(model.patch));
  return lane.height / model.patch * (lane.width / model.patch);
}

}  // namespace ditar
