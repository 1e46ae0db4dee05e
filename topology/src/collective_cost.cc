#include "ditar/config/error.h"
#include "ditar/topology/link_model.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

std::vector<const Link*> links_of(const TopologyGraph& graph, const std::vector<int>& group) {
  std::vector<const Link*> links;
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      const Link* link = graph.find_link(group[i], group[j]);
      require(link && link->cost, "the topology has no cost for GPU" + std::to_string(group[i]) +
                                      "-GPU" + std::to_string(group[j]) +
                                      "; measure it or fill in the model");
      links.push_back(link);
    }
  }
  return links;
}

/// Weighted sums of the normal equations for t ~ a + b x with weights 1/t^2.
struct Sums {
  double w = 0, x = 0, xx = 0, t = 0, xt = 0;
};

double rms_relative(std::span<const TimedTransfer> points, double a, double b) {
  double sum = 0.0;
  for (const TimedTransfer& point : points) {
    const double error = (a + b * point.bytes - point.seconds) / point.seconds;
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

}  // namespace

double wire_bytes(Collective collective, int ranks, double bytes) {
  require(ranks >= 1, "a collective needs at least one rank");
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2.0 * share * bytes;
    case Collective::kPointToPoint:
      return bytes;
    default:
      return share * bytes;
  }
}

int latency_steps(Collective collective, int ranks) {
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (ranks - 1);
    case Collective::kPointToPoint:
      return 1;
    default:
      return ranks - 1;
  }
}

double collective_seconds(Collective collective, int ranks, double bytes, const LinkCost& copy) {
  return latency_steps(collective, ranks) * copy.alpha_us * 1e-6 +
         wire_bytes(collective, ranks, bytes) / (copy.bandwidth_gb_per_s * 1e9);
}

double group_seconds(const TopologyGraph& graph, Collective collective,
                     const std::vector<int>& group, double bytes) {
  const int ranks = static_cast<int>(group.size());
  if (ranks < 2) return 0.0;
  if (const CollectiveCost* known = graph.find_collective(collective, group)) {
    return known->cost.alpha_us * 1e-6 +
           wire_bytes(collective, ranks, bytes) / (known->cost.bandwidth_gb_per_s * 1e9);
  }
  LinkCost worst{0.0, 1e9, 0.0, Origin::kModelled};
  for (const Link* link : links_of(graph, group)) {
    worst.alpha_us = std::max(worst.alpha_us, link->cost->alpha_us);
    worst.bandwidth_gb_per_s = std::min(worst.bandwidth_gb_per_s, link->cost->bandwidth_gb_per_s);
  }
  return collective_seconds(collective, ranks, bytes, worst);
}

Origin group_origin(const TopologyGraph& graph, Collective collective,
                    const std::vector<int>& group) {
  if (const CollectiveCost* known = graph.find_collective(collective, group)) {
    return known->cost.origin;
  }
  for (const Link* link : links_of(graph, group)) {
    if (link->cost->origin != Origin::kMeasured) return Origin::kModelled;
  }
  return Origin::kMeasured;
}

LinkCost fit_link(std::span<const TimedTransfer> points) {
  require(points.size() >= 3,
          "a fit needs at least 3 timed transfers, not " + std::to_string(points.size()));
  Sums s;
  for (const TimedTransfer& point : points) {
    require(point.seconds > 0.0 && std::isfinite(point.seconds) && point.bytes >= 0.0,
            "a timed transfer needs a time > 0 s and a size >= 0 bytes");
    const double w = 1.0 / (point.seconds * point.seconds);
    s.w += w;
    s.x += w * point.bytes;
    s.xx += w * point.bytes * point.bytes;
    s.t += w * point.seconds;
    s.xt += w * point.bytes * point.seconds;
  }
  const double determinant = s.w * s.xx - s.x * s.x;
  require(determinant > 1e-12 * s.w * s.xx, "a fit needs transfers of at least two sizes");
  double b = (s.w * s.xt - s.x * s.t) / determinant;
  double a = (s.t - b * s.x) / s.w;
  if (a < 0.0) {
    a = 0.0;
    b = s.xt / s.xx;
  }
  require(b > 0.0, "the times do not grow with the size, so no bandwidth can be fitted");
  return {a * 1e6, 1e-9 / b, rms_relative(points, a, b), Origin::kMeasured};
}

}  // namespace ditar
