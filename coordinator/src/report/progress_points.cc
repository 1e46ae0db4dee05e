// The lane's metric over the experiments. Pure.
#include "ditar/coordinator/report.h"

#include <algorithm>

namespace ditar {

MetricAxis metric_axis(const LaneConfig& lane) {
  if (lane.metric == "throughput") return {"images per second", false};
  if (lane.metric == "peak_memory") return {"peak memory, GB", true};
  return {"latency of one request, ms", true};
}

std::optional<double> metric_value(const Attempt& attempt, const LaneConfig& lane) {
  if (attempt.verdict == "CRASH") return std::nullopt;
  if (lane.metric == "peak_memory") {
    if (!attempt.memory_bytes) return std::nullopt;
    return *attempt.memory_bytes / 1e9;
  }
  if (!attempt.metric_seconds || *attempt.metric_seconds <= 0.0) return std::nullopt;
  if (lane.metric == "throughput") return lane.images / *attempt.metric_seconds;
  return *attempt.metric_seconds * 1e3;
}

std::vector<ProgressPoint> progress_points(const std::vector<Attempt>& attempts,
                                           const LaneConfig& lane) {
  std::vector<ProgressPoint> out;
  std::optional<double> best;
  int number = 0;
  for (const Attempt& attempt : attempts) {
    ProgressPoint point;
    point.id = attempt.id;
    point.description = attempt.description;
    point.value = metric_value(attempt, lane);
    if (attempt.verdict == "BASELINE") {
      point.kind = PointKind::kBaseline;
      point.description = "baseline";
      point.number = number;
      // A baseline measured again later is a point, but does not take the best's place.
      if (number == 0) best = point.value;
    } else if (attempt.verdict == "KEEP" || attempt.verdict == "DISCARD" ||
               attempt.verdict == "CRASH") {
      point.number = ++number;
      point.kind = attempt.verdict == "KEEP"      ? PointKind::kKept
                   : attempt.verdict == "DISCARD" ? PointKind::kDiscarded
                                                  : PointKind::kCrashed;
      if (point.kind == PointKind::kKept && point.value) best = point.value;
    } else {
      continue;
    }
    point.best = best;
    out.push_back(point);
  }
  return out;
}

}  // namespace ditar
