#include "ditar/config/error.h"
#include "ditar/planner/step_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ditar {
namespace {

constexpr std::size_t kKinds = 5;
using Row = std::array<double, kKinds>;

/// The kinds' shares of the measured time.
Row shares(const MeasuredStep& step) {
  const StepCost& c = step.predicted;
  Row row{c.matmul, c.attention, c.pointwise, c.launch, c.transfer};
  for (double& value : row) value *= c.bubble / step.seconds;
  return row;
}

double error_of(const Row& row, const Row& scales) {
  double sum = -1.0;
  for (std::size_t i = 0; i < kKinds; ++i) sum += row[i] * scales[i];
  return sum;
}

}  // namespace

StepScales fit_scales(std::span<const MeasuredStep> measured) {
  require(!measured.empty(), "a calibration needs at least one measured step");
  std::vector<Row> rows;
  for (const MeasuredStep& step : measured) {
    require(step.seconds > 0.0 && std::isfinite(step.seconds),
            "a measured step needs a time > 0 s");
    rows.push_back(shares(step));
  }
  // Bounded coordinate descent on a convex quadratic; the weak pull towards 1 keeps it unique.
  constexpr double kPull = 1e-4, kLeast = 0.05, kMost = 20.0;
  constexpr int kSweeps = 2000;
  Row scales{1, 1, 1, 1, 1};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      double slope = kPull * (scales[i] - 1.0), curve = kPull;
      for (const Row& row : rows) {
        slope += row[i] * error_of(row, scales);
        curve += row[i] * row[i];
      }
      scales[i] = std::clamp(scales[i] - slope / curve, kLeast, kMost);
    }
  }
  double sum = 0.0;
  for (const Row& row : rows) sum += error_of(row, scales) * error_of(row, scales);
  StepScales fit{scales[0], scales[1], scales[2], scales[3], scales[4]};
  fit.residual = std::sqrt(sum / static_cast<double>(rows.size()));
  fit.origin = Origin::kMeasured;
  return fit;
}

}  // namespace ditar
