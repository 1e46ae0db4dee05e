#include "ditar/planner/plan_fit.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

namespace ditar {
namespace {

using Json = nlohmann::ordered_json;

Json scales_json(const StepScales& scales) {
  return {{"matmul", scales.matmul},       {"attention", scales.attention},
          {"pointwise", scales.pointwise}, {"launch", scales.launch},
          {"transfer", scales.transfer},   {"residual", scales.residual}};
}

double amount(const Json& object, const char* key, const std::string& place) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value < 0.0) {
    throw DataError(place + "." + key + " must be a number of at least 0");
  }
  return value;
}

}  // namespace

void PlanFit::add(FitPoint point) {
  std::erase_if(
      points, [&](const FitPoint& old) { return old.job == point.job && old.plan == point.plan; });
  points.push_back(std::move(point));
}

StepScales PlanFit::scales() const {
  std::vector<MeasuredStep> steps;
  for (const FitPoint& point : points) steps.push_back(point.step);
  return fit_scales(steps);
}

std::string to_fit_json(const PlanFit& fit) {
  Json points = Json::array();
  for (const FitPoint& point : fit.points) {
    const StepCost& c = point.step.predicted;
    points.push_back({{"job", point.job},
                      {"plan", point.plan},
                      {"measured_seconds", point.step.seconds},
                      {"predicted_seconds", c.seconds()},
                      {"matmul", c.matmul},
                      {"attention", c.attention},
                      {"pointwise", c.pointwise},
                      {"launch", c.launch},
                      {"transfer", c.transfer},
                      {"bubble", c.bubble}});
  }
  Json root = {{"schema", 1}, {"device", fit.device}, {"precision", fit.precision}};
  root["scales"] = fit.points.empty() ? Json(nullptr) : scales_json(fit.scales());
  root["points"] = points;
  return root.dump(2) + "\n";
}

PlanFit from_fit_json(std::string_view text) {
  try {
    const Json root = Json::parse(text);
    if (root.at("schema").get<int>() != 1) throw DataError("schema must be 1");
    PlanFit fit;
    root.at("device").get_to(fit.device);
    root.at("precision").get_to(fit.precision);
    const Json& points = root.at("points");
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Json& item = points.at(i);
      const std::string place = "points[" + std::to_string(i) + "]";
      FitPoint point;
      item.at("job").get_to(point.job);
      item.at("plan").get_to(point.plan);
      point.step.seconds = amount(item, "measured_seconds", place);
      if (point.step.seconds == 0.0) throw DataError(place + ".measured_seconds must be above 0");
      StepCost& c = point.step.predicted;
      c.matmul = amount(item, "matmul", place);
      c.attention = amount(item, "attention", place);
      c.pointwise = amount(item, "pointwise", place);
      c.launch = amount(item, "launch", place);
      c.transfer = amount(item, "transfer", place);
      c.bubble = amount(item, "bubble", place);
      fit.add(std::move(point));
    }
    return fit;
  } catch (const Json::exception& error) {
    throw DataError("not a fit of dit-worker plan --measure: " + std::string(error.what()));
  }
}

PlanFit load_fit(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(path.string() + " cannot be read; check the path and its permissions");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return from_fit_json(text);
  } catch (const DataError& error) {
    throw DataError(path.string() + ": " + error.message());
  }
}

}  // namespace ditar
