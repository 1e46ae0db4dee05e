// One step = depth x (4 products, attention, 2 fused pointwise kernels), a few kernels outside the
// blocks, and the plan's exchanges. Volumes per block for activations A = B N D bytes and P ranks:
// tensor 2 all-reduces of A; Ulysses all-to-alls of 3A/P and A/P; ring (P-1) sends of 2A/P, hidden
// behind attention; CFG one all-gather of the branches' outputs per step; data one gather per run;
// pipeline one send of A per boundary and micro-batch.
#include "ditar/planner/step_cost.h"

#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"
#include "ditar/topology/roofline.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr int kKernelsPerBlock = 7;
constexpr int kKernelsOutside = 8;  // patch embedding, last layer, guidance and sampler
// Share of a ring transfer that runs beside the local attention; copies take multiprocessors and
// memory from it (assumed).
constexpr double kRingOverlap = 0.7;

double ceil_div(std::int64_t a, std::int64_t b) { return static_cast<double>((a + b - 1) / b); }

struct Shard {
  double samples;  // images x branches of this rank, of one micro-batch
  double rows;     // tokens of this rank
  double tokens;   // tokens of an image
  double blocks;   // of this rank
};

class StepModel {
 public:
  StepModel(const ModelShape& model, const LaneShape& lane, const Plan& plan,
            const DeviceModel& device, const TopologyGraph& graph, const std::vector<int>& gpus)
      : model_(model), lane_(lane), plan_(plan), device_(device), graph_(graph), gpus_(gpus) {}

  /// The cost of one micro-batch on one stage.
  StepCost stage(const Shard& shard) const {
    StepCost cost;
    add_blocks(shard, cost);
    add_outside(shard, cost);
    if (plan_.tensor > 1) add_tensor(shard, cost);
    if (plan_.sequence > 1) add_sequence(shard, cost);
    if (plan_.pipeline > 1) {
      exchange(Collective::kPointToPoint, 2, activation_bytes(shard), 1, cost);
    }
    return cost;
  }

  /// What happens once per step, after all micro-batches.
  void add_once(StepCost& cost) const {
    const double output = static_cast<double>(lane_.height * lane_.width * model_.in_channels) * 4;
    if (plan_.cfg > 1) {
      const double images = ceil_div(lane_.images, plan_.data);
      exchange(Collective::kAllGather, plan_.cfg, 2 * images * output, 1, cost);
    }
    if (plan_.data > 1) {
      const double share = output * static_cast<double>(lane_.images) / lane_.steps;
      exchange(Collective::kAllGather, plan_.data, share, 1.0 / lane_.steps, cost);
    }
  }

 private:
  double element() const { return element_bytes(lane_.arithmetic); }
  double hidden() const { return static_cast<double>(model_.hidden); }
  double activation_bytes(const Shard& shard) const {
    return shard.samples * shard.rows * hidden() * element();
  }

  void add_blocks(const Shard& shard, StepCost& cost) const {
    const double m = shard.samples * shard.rows, d = hidden(), part = d / plan_.tensor;
    const auto product = [&](double n, double k) {
      return gemm_seconds(device_, lane_.arithmetic, m, n, k);
    };
    cost.matmul += shard.blocks * (product(3 * part, d) + product(d, part) + product(4 * part, d) +
                                   product(d, 4 * part));
    const bool ring = plan_.sequence_kind == SequenceKind::kRing;
    const double heads =
        static_cast<double>(model_.heads) / plan_.tensor / (ring ? 1 : plan_.sequence);
    cost.attention +=
        shard.blocks * attention_seconds(device_, lane_.arithmetic, shard.samples, heads,
                                         ring ? shard.rows : shard.tokens, shard.tokens,
                                         static_cast<double>(model_.head_size()));
    const double x = m * d * element();
    cost.pointwise += shard.blocks * 2 * traffic_seconds(device_, 4 * x, 3 * x);
    cost.launch += shard.blocks * kKernelsPerBlock * device_.kernel_gap_us * 1e-6;
  }

  void add_outside(const Shard& shard, StepCost& cost) const {
    const double m = shard.samples * shard.rows;
    const double area = static_cast<double>(model_.patch * model_.patch);
    cost.matmul += gemm_seconds(device_, lane_.arithmetic, m, hidden(),
                                area * static_cast<double>(model_.in_channels)) +
                   gemm_seconds(device_, lane_.arithmetic, m,
                                area * static_cast<double>(model_.out_channels), hidden());
    cost.launch += kKernelsOutside * device_.kernel_gap_us * 1e-6;
  }

  void add_tensor(const Shard& shard, StepCost& cost) const {
    exchange(Collective::kAllReduce, plan_.tensor, activation_bytes(shard), 2 * shard.blocks, cost);
  }

  void add_sequence(const Shard& shard, StepCost& cost) const {
    const double local = activation_bytes(shard) / plan_.tensor;
    if (plan_.sequence_kind == SequenceKind::kUlysses) {
      exchange(Collective::kAllToAll, plan_.sequence, 3 * local, shard.blocks, cost);
      exchange(Collective::kAllToAll, plan_.sequence, local, shard.blocks, cost);
      return;
    }
    StepCost sends;
    exchange(Collective::kPointToPoint, 2, 2 * local, shard.blocks * (plan_.sequence - 1), sends);
    const double beside = kRingOverlap * cost.attention * (plan_.sequence - 1) / plan_.sequence;
    cost.transfer += std::max(0.0, sends.transfer - beside);
    cost.wire_bytes += sends.wire_bytes;
    cost.transfers += sends.transfers;
    cost.launch += shard.blocks * plan_.sequence * device_.kernel_gap_us * 1e-6;  // merges
  }

  /// `calls` exchanges among `ranks` ranks, charged at the slowest link of the whole group.
  void exchange(Collective collective, int ranks, double bytes, double calls,
                StepCost& cost) const {
    std::vector<int> group = gpus_;
    if (static_cast<int>(gpus_.size()) > ranks) {
      group = slowest_group(ranks);
    }
    cost.transfer += calls * group_seconds(graph_, collective, group, bytes);
    cost.wire_bytes += calls * wire_bytes(collective, ranks, bytes);
    cost.transfers += static_cast<int>(std::ceil(calls));
  }

  /// `ranks` GPUs that hold the slowest pair of the plan's GPUs.
  std::vector<int> slowest_group(int ranks) const {
    std::vector<int> group;
    double least = 1e30;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (std::size_t j = i + 1; j < gpus_.size(); ++j) {
        const Link* link = graph_.find_link(gpus_[i], gpus_[j]);
        if (link && link->cost && link->cost->bandwidth_gb_per_s < least) {
          least = link->cost->bandwidth_gb_per_s;
          group = {gpus_[i], gpus_[j]};
        }
      }
    }
    for (const int gpu : gpus_) {
      if (static_cast<int>(group.size()) < ranks &&
          std::find(group.begin(), group.end(), gpu) == group.end()) {
        group.push_back(gpu);
      }
    }
    return group;
  }

  const ModelShape& model_;
  const LaneShape& lane_;
  const Plan& plan_;
  const DeviceModel& device_;
  const TopologyGraph& graph_;
  const std::vector<int>& gpus_;
};

void multiply(StepCost& cost, double factor) {
  cost.matmul *= factor;
  cost.attention *= factor;
  cost.pointwise *= factor;
  cost.launch *= factor;
  cost.transfer *= factor;
  cost.wire_bytes *= factor;
  cost.transfers = static_cast<int>(cost.transfers * factor);
}

}  // namespace

double StepScales::seconds(const StepCost& cost) const noexcept {
  return (matmul * cost.matmul + attention * cost.attention + pointwise * cost.pointwise +
          launch * cost.launch + transfer * cost.transfer) *
         cost.bubble;
}

StepCost predict_step(const ModelShape& model, const LaneShape& lane, const Plan& plan,
                      const DeviceModel& device, const TopologyGraph& graph,
                      const std::vector<int>& gpus) {
  require(static_cast<int>(gpus.size()) == plan.ranks(),
          "plan " + format_plan(plan) + " needs " + std::to_string(plan.ranks()) + " GPUs, not " +
              std::to_string(gpus.size()));
  const StepModel step(model, lane, plan, device, graph, gpus);
  const double tokens = static_cast<double>(tokens_of(model, lane));
  const double samples = ceil_div(lane.images, plan.data) * lane.branches() / plan.cfg;
  const double blocks = ceil_div(model.depth, plan.pipeline);
  const double rows = ceil_div(tokens_of(model, lane), plan.sequence);
  StepCost best;
  const int most = plan.pipeline > 1 ? static_cast<int>(std::min(samples, 64.0)) : 1;
  for (int count = 1; count <= most; ++count) {
    const double micro = std::ceil(samples / count);
    StepCost cost = step.stage({micro, rows, tokens, blocks});
    cost.bubble = static_cast<double>(count + plan.pipeline - 1) / count;
    cost.micro_batches = count;
    multiply(cost, count);
    if (count == 1 || cost.seconds() < best.seconds()) best = cost;
  }
  step.add_once(best);
  best.measured_links =
      gpus.size() > 1 && group_origin(graph, Collective::kPointToPoint, gpus) == Origin::kMeasured;
  return best;
}

}  // namespace ditar
