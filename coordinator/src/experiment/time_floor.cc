#include "ditar/coordinator/time_floor.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ditar {
namespace {

constexpr double kBeyondMeasured = 4.0;      ///< a loaded machine shows less than it has
constexpr double kHalfPrecisionGain = 16.0;  ///< dense FP16 tensor cores against FP32 cores
constexpr double kInt8Gain = 4.0;            ///< four products in the place of one FP32

}  // namespace

double TimeFloor::least_ns(const std::string& classification) const {
  if (!(step_flops > 0.0) || !(matmul_flops_per_s > 0.0)) return 0.0;
  const bool quantized = classification == "quantization";
  double rate = matmul_flops_per_s * kBeyondMeasured;
  if (on_gpu && (precision == "fp32" || precision == "tf32")) rate *= kHalfPrecisionGain;
  if (quantized) rate *= kInt8Gain;
  const int owed = quantized || classification == "approximate" ? 1 : steps;
  return owed * step_flops / rate * 1e9;
}

double dit_step_flops(const LoadReply& model, double rows) {
  if (model.patch < 1) return 0.0;
  const auto width = static_cast<double>(model.hidden);
  const double tokens =
      static_cast<double>((model.height / model.patch) * (model.width / model.patch));
  const double per_token = 24.0 * width * width + 4.0 * tokens * width;
  return rows * static_cast<double>(model.depth) * tokens * per_token;
}

TimeFloor measured_rate(const nlohmann::json& profile) {
  TimeFloor floor;
  try {
    const nlohmann::json& measured = profile.at("measured");
    floor.matmul_flops_per_s = measured.at("ceilings").at("matmul_tflops").get<double>() * 1e12;
    for (const nlohmann::json& group : measured.at("groups")) {
      const double ms = group.at("ms").get<double>();
      if (!(ms > 0.0)) continue;
      floor.matmul_flops_per_s =
          std::max(floor.matmul_flops_per_s, group.at("flops").get<double>() / ms * 1e3);
    }
    floor.precision = measured.at("precision").get<std::string>();
    floor.on_gpu = measured.at("device").get<std::string>() != "cpu";
  } catch (const nlohmann::json::exception& error) {
    throw DataError(std::string("the profile of the original's worker: ") + error.what());
  }
  return floor;
}

nlohmann::json to_json(const TimeFloor& floor) {
  return {{"step_flops", floor.step_flops},
          {"matmul_flops_per_s", floor.matmul_flops_per_s},
          {"steps", floor.steps},
          {"precision", floor.precision},
          {"on_gpu", floor.on_gpu},
          {"least_ns",
           {{"exact", floor.least_ns("exact")},
            {"numerical", floor.least_ns("numerical")},
            {"approximate", floor.least_ns("approximate")},
            {"quantization", floor.least_ns("quantization")}}}};
}

TimeFloor time_floor_from(const nlohmann::json& body) {
  TimeFloor floor;
  floor.step_flops = body.value("step_flops", 0.0);
  floor.matmul_flops_per_s = body.value("matmul_flops_per_s", 0.0);
  floor.steps = body.value("steps", 0);
  floor.precision = body.value("precision", "");
  floor.on_gpu = body.value("on_gpu", false);
  return floor;
}

}  // namespace ditar
