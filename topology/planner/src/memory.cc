#include "ditar/planner/step_cost.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr double kContextBytes = 450e6, kNcclBytes = 200e6;  // assumed until measured

}  // namespace

MemoryNeed predict_memory(const ModelShape& model, const LaneShape& lane, const Plan& plan,
                          const DeviceModel& device) {
  const double element = element_bytes(lane.arithmetic);
  const double d = static_cast<double>(model.hidden);
  const double blocks = std::ceil(static_cast<double>(model.depth) / plan.pipeline);
  const double images = std::ceil(static_cast<double>(lane.images) / plan.data);
  const double samples = images * lane.branches() / plan.cfg;
  const double rows = std::ceil(static_cast<double>(tokens_of(model, lane)) / plan.sequence);
  MemoryNeed need;
  need.weights =
      element * (blocks * static_cast<double>(model.block_parameters()) / plan.tensor +
                 static_cast<double>(model.outer_parameters() + model.modulation_parameters()));
  const double labels = std::min(images, static_cast<double>(model.classes)) + lane.branches() - 1;
  need.modulation = element * lane.steps * labels * (blocks * 6 * d + 2 * d);
  const double x = samples * rows * d;
  const double inner = x / plan.tensor;
  // Residual stream in FP32, its normalised copy, and the wider of {QKV + attention out, MLP}.
  need.activations = 4 * x + element * (x + std::max(3 * inner + inner, 4 * inner));
  if (plan.tensor > 1) need.transfer += element * x;
  if (plan.sequence > 1) need.transfer += element * 4 * inner;
  if (plan.pipeline > 1) need.transfer += 2 * element * x;
  if (device.gpu) need.context = kContextBytes + (plan.ranks() > 1 ? kNcclBytes : 0.0);
  return need;
}

}  // namespace ditar
