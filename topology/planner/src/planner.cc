#include "ditar/planner/planner.h"

#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>

namespace ditar {
namespace {

constexpr double kTie = 0.01;

std::string count(std::int64_t value) { return std::to_string(value); }

std::string gigabytes(double bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << bytes * 1e-9 << " GB";
  return text.str();
}

std::vector<int> divisors(int n) {
  std::vector<int> found;
  for (int i = 1; i <= n; ++i) {
    if (n % i == 0) found.push_back(i);
  }
  return found;
}

/// Every product of degrees with exactly `ranks` ranks.
void add_plans(int ranks, std::vector<Plan>& plans) {
  for (const int data : divisors(ranks)) {
    for (const int cfg : divisors(ranks / data)) {
      for (const int tensor : divisors(ranks / data / cfg)) {
        for (const int sequence : divisors(ranks / data / cfg / tensor)) {
          Plan plan{data,
                    cfg,
                    tensor,
                    sequence,
                    ranks / data / cfg / tensor / sequence,
                    SequenceKind::kUlysses};
          plans.push_back(plan);
          if (sequence == 1) continue;
          plan.sequence_kind = SequenceKind::kRing;
          plans.push_back(plan);
        }
      }
    }
  }
}

/// The graph with a cost on every pair; for a machine without GPUs, `world` ranks on one host.
TopologyGraph complete_graph(const PlannerInput& input) {
  TopologyGraph graph = input.graph;
  if (graph.gpus.empty()) {
    constexpr LinkCost kProcesses{5.0, 5.0, 0.0, Origin::kModelled};  // through host memory
    graph.links.clear();
    graph.collectives.clear();
    graph.hosts.assign(1, {});
    for (int i = 0; i < input.world_size; ++i) {
      Gpu rank;
      rank.index = i;
      graph.gpus.push_back(rank);
      for (int j = 0; j < i; ++j) {
        Link link;
        link.a = j;
        link.b = i;
        link.cost = kProcesses;
        graph.links.push_back(link);
      }
    }
  }
  fill_modelled_costs(graph);
  return graph;
}

int factors_in_use(const Plan& plan) {
  return (plan.data > 1) + (plan.cfg > 1) + (plan.tensor > 1) + (plan.sequence > 1) +
         (plan.pipeline > 1);
}

/// Stable order by time in which a cheaper or simpler plan passes one at most 1 % faster.
void sort_plans(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& x, const RankedPlan& y) { return x.seconds < y.seconds; });
  for (auto first = plans.begin(); first != plans.end();) {
    auto last = first;
    while (last != plans.end() && last->seconds <= first->seconds * (1.0 + kTie)) ++last;
    std::stable_sort(first, last, [](const RankedPlan& x, const RankedPlan& y) {
      return std::tuple(x.plan.ranks(), factors_in_use(x.plan)) <
             std::tuple(y.plan.ranks(), factors_in_use(y.plan));
    });
    first = last;
  }
}

RankedPlan rank_plan(const PlannerInput& input, const TopologyGraph& graph, const Plan& plan) {
  RankedPlan entry;
  entry.plan = plan;
  entry.gpus = choose_gpus(graph, plan.ranks());
  entry.cost = predict_step(input.model, input.lane, plan, input.device, graph, entry.gpus);
  entry.seconds = input.scales.seconds(entry.cost);
  entry.seconds_low = entry.seconds * std::max(0.0, 1.0 - input.scales.residual);
  entry.seconds_high = entry.seconds * (1.0 + input.scales.residual);
  entry.memory = predict_memory(input.model, input.lane, plan, input.device);
  const bool links = plan.ranks() == 1 || entry.cost.measured_links;
  if (links && input.scales.origin == Origin::kMeasured) entry.origin = Origin::kMeasured;
  return entry;
}

std::int64_t memory_limit(const PlannerInput& input) {
  const std::int64_t own = input.device.memory_bytes, cap = input.memory_cap_bytes;
  if (cap > 0 && own > 0) return std::min(own, cap);
  return std::max(own, cap);
}

}  // namespace

// The engine's order (DeviceMesh), so that both give the same reason first.
std::optional<std::string> why_illegal(const ModelShape& model, const LaneShape& lane,
                                       const Plan& plan, int world_size) {
  if (plan.ranks() > world_size) {
    return "needs " + count(plan.ranks()) + " ranks, there are " + count(world_size);
  }
  if (plan.cfg > 2) return "cfg=" + count(plan.cfg) + ": guidance has two branches";
  if (model.heads % plan.tensor != 0) {
    return "tensor=" + count(plan.tensor) + " does not divide " + count(model.heads) + " heads";
  }
  if (plan.pipeline > model.depth) {
    return "pipeline=" + count(plan.pipeline) + " exceeds " + count(model.depth) + " layers";
  }
  const std::int64_t tokens = tokens_of(model, lane), heads = model.heads / plan.tensor;
  if (plan.sequence > tokens) {
    return "sequence degree " + count(plan.sequence) + " exceeds " + count(tokens) + " tokens";
  }
  if (plan.sequence > 1 && plan.sequence_kind == SequenceKind::kUlysses &&
      heads % plan.sequence != 0) {
    return "ulysses=" + count(plan.sequence) + " does not divide " + count(heads) + " heads" +
           (plan.tensor > 1 ? " per tensor rank" : "");
  }
  if (plan.data > lane.images) {
    return "data=" + count(plan.data) + ": the request has " + count(lane.images) +
           (lane.images == 1 ? " image" : " images");
  }
  if (plan.cfg > lane.branches()) return "cfg=2 needs guidance other than 1: there is one branch";
  return std::nullopt;
}

PlanList plans_for(const PlannerInput& input) {
  require(input.world_size >= 1, "the world size must be at least 1");
  require(input.lane.images >= 1 && input.lane.steps >= 1,
          "a request needs at least one image and one step");
  require(input.model.hidden > 0 && input.model.depth > 0 && input.model.heads > 0 &&
              input.model.hidden % input.model.heads == 0,
          "hidden size " + count(input.model.hidden) + " is not divisible by " +
              count(input.model.heads) + " heads");
  tokens_of(input.model, input.lane);
  const TopologyGraph graph = complete_graph(input);
  choose_gpus(graph, input.world_size);
  const std::int64_t limit = memory_limit(input);
  std::vector<Plan> plans;
  for (int ranks = 1; ranks <= input.world_size; ++ranks) add_plans(ranks, plans);
  PlanList list;
  for (const Plan& plan : plans) {
    if (auto reason = why_illegal(input.model, input.lane, plan, input.world_size)) {
      list.rejected.push_back({plan, std::move(*reason)});
      continue;
    }
    RankedPlan entry = rank_plan(input, graph, plan);
    if (limit > 0 && entry.memory.bytes() > static_cast<double>(limit)) {
      list.rejected.push_back({plan, "memory: needs " + gigabytes(entry.memory.bytes()) +
                                         " per GPU, the limit is " +
                                         gigabytes(static_cast<double>(limit))});
    } else {
      list.ranked.push_back(std::move(entry));
    }
  }
  const auto single = std::find_if(list.ranked.begin(), list.ranked.end(),
                                   [](const RankedPlan& p) { return p.plan == Plan{}; });
  const double reference = single == list.ranked.end() ? 0.0 : single->seconds;
  for (RankedPlan& entry : list.ranked) entry.speedup = reference / entry.seconds;
  sort_plans(list.ranked);
  return list;
}

}  // namespace ditar
