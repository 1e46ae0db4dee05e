// Measured steps of plans and the factors fitted to them, kept in a file between runs so that a
// calibration grows with every job measured on the same kind of device. Pure functions apart from
// load_fit, which reads one file. Thread-safe.
#pragma once

#include "ditar/planner/step_cost.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

struct FitPoint {
  std::string job;  ///< what was run: model, images, size, guidance
  std::string plan;
  MeasuredStep step;
};

struct PlanFit {
  std::string device;     ///< name of the DeviceModel that the predictions are of
  std::string precision;  ///< as the worker names it
  std::vector<FitPoint> points;

  /// Takes the place of an older point of the same job and plan.
  void add(FitPoint point);
  /// @throws InvalidArgument without points.
  StepScales scales() const;
};

/// Pretty JSON; from_fit_json(to_fit_json(f)) has the same scales.
std::string to_fit_json(const PlanFit& fit);
/// @throws DataError naming the key that is missing, unknown in type or out of range.
PlanFit from_fit_json(std::string_view text);
/// from_fit_json of a file; the error starts with the file's name. @throws IoError, DataError.
PlanFit load_fit(const std::filesystem::path& path);

}  // namespace ditar
