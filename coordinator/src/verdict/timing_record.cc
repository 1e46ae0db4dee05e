#include "ditar/coordinator/verdict/timing_record.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cmath>

namespace ditar {

std::string_view to_string(TimedArm arm) noexcept {
  switch (arm) {
    case TimedArm::kNone:
      return "none";
    case TimedArm::kA:
      return "A";
    case TimedArm::kB:
      return "B";
    case TimedArm::kBoth:
      return "both";
  }
  return "none";
}

std::string_view to_string(QuadOrder order) noexcept {
  return order == QuadOrder::kAbba ? "ABBA" : "BAAB";
}

std::string_view to_string(BlockKind kind) noexcept {
  switch (kind) {
    case BlockKind::kCalibration:
      return "calibration";
    case BlockKind::kControl:
      return "control";
    case BlockKind::kScreen:
      return "screen";
    case BlockKind::kConfirm:
      return "confirm";
    case BlockKind::kHeadToHead:
      return "head_to_head";
  }
  return "screen";
}

BlockKind block_kind_from(std::string_view text) {
  for (const BlockKind kind : {BlockKind::kCalibration, BlockKind::kControl, BlockKind::kScreen,
                               BlockKind::kConfirm, BlockKind::kHeadToHead}) {
    if (to_string(kind) == text) return kind;
  }
  throw DataError("block kind '" + std::string(text) +
                  "' is none of calibration, control, screen, confirm, head_to_head");
}

double quad_value(const QuadRecord& quad) {
  std::array<double, 4> logs{};
  for (std::size_t i = 0; i < 4; ++i) {
    if (quad.cost[i] <= 0) {
      throw DataError("timed request " + std::to_string(i + 1) + " of a quad cost " +
                      std::to_string(quad.cost[i]) + "; a cost is above 0");
    }
    logs[i] = std::log(static_cast<double>(quad.cost[i]));
  }
  const double inner_minus_outer = 0.5 * ((logs[1] + logs[2]) - (logs[0] + logs[3]));
  return quad.order == QuadOrder::kAbba ? inner_minus_outer : -inner_minus_outer;
}

std::optional<double> block_value(const BlockRecord& block, int least_quads) {
  if (block.is_void) return std::nullopt;
  std::vector<double> values;
  for (const QuadRecord& quad : block.quads) {
    if (!quad.is_void) values.push_back(quad_value(quad));
  }
  if (values.empty() || static_cast<int>(values.size()) < least_quads) return std::nullopt;
  return median(values);
}

double median(std::span<const double> values) {
  require(!values.empty(), "median: no values");
  std::vector<double> sorted(values.begin(), values.end());
  for (const double x : sorted) require(!std::isnan(x), "median: a value is not a number");
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

}  // namespace ditar
