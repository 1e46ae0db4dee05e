#include "ditar/planner/step_groups.h"

#include "ditar/planner/step_cost.h"
#include "ditar/topology/roofline.h"

#include <algorithm>

namespace ditar {
namespace {

std::string text(double size) { return std::to_string(static_cast<std::int64_t>(size)); }

class Groups {
 public:
  Groups(const LaneShape& lane, const DeviceModel& device) : lane_(lane), device_(device) {}

  void product(double calls, double m, double n, double k) {
    const std::string name = "linear " + text(m) + "x" + text(n) + "x" + text(k);
    auto found = std::find_if(all_.begin(), all_.end(),
                              [&](const StepGroup& group) { return group.name == name; });
    if (found == all_.end()) found = all_.insert(all_.end(), StepGroup{.name = name});
    found->calls += calls;
    found->seconds += calls * gemm_seconds(device_, lane_.arithmetic, m, n, k);
    found->flops += calls * 2.0 * m * n * k;
    found->bytes += calls * (m * k + n * k + m * n) * element_bytes(lane_.arithmetic);
  }
  void add(StepGroup group) { all_.push_back(std::move(group)); }
  std::vector<StepGroup> take() { return std::move(all_); }

 private:
  const LaneShape& lane_;
  const DeviceModel& device_;
  std::vector<StepGroup> all_;
};

}  // namespace

std::vector<StepGroup> predict_groups(const ModelShape& model, const LaneShape& lane,
                                      const DeviceModel& device) {
  const StepCost cost = predict_step(model, lane, Plan{}, device, {}, {0});
  const auto depth = static_cast<double>(model.depth), d = static_cast<double>(model.hidden);
  const auto tokens = static_cast<double>(tokens_of(model, lane));
  const double rows = static_cast<double>(lane.images) * lane.branches();
  const double m = rows * tokens, x = m * d * element_bytes(lane.arithmetic);
  const auto area = static_cast<double>(model.patch * model.patch);
  Groups groups(lane, device);
  groups.product(1, m, d, area * static_cast<double>(model.in_channels));
  groups.product(depth, m, 3 * d, d);
  groups.product(depth, m, d, d);
  groups.product(depth, m, 4 * d, d);
  groups.product(depth, m, d, 4 * d);
  groups.product(1, m, area * static_cast<double>(model.out_channels), d);
  groups.add({"attention", depth, cost.attention, depth * 4.0 * m * tokens * d, depth * 4.0 * x});
  groups.add({"norm", 2 * depth, cost.pointwise, 0.0, 2 * depth * 4.0 * x});
  groups.add({"gaps", 1, cost.launch, 0.0, 0.0});
  return groups.take();
}

}  // namespace ditar
