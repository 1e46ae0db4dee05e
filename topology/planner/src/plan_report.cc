#include "ditar/planner/planner.h"

#include <nlohmann/json.hpp>

#include <iomanip>
#include <sstream>

namespace ditar {
namespace {

using Json = nlohmann::ordered_json;

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

Json ranked_json(const RankedPlan& entry) {
  return {{"plan", format_plan(entry.plan)},
          {"ranks", entry.plan.ranks()},
          {"gpus", entry.gpus},
          {"step_ms", 1e3 * entry.seconds},
          {"step_ms_low", 1e3 * entry.seconds_low},
          {"step_ms_high", 1e3 * entry.seconds_high},
          {"speedup", entry.speedup > 0 ? Json(entry.speedup) : Json(nullptr)},
          {"origin", to_string(entry.origin)},
          {"peak_bytes_per_gpu", static_cast<std::int64_t>(entry.memory.bytes())},
          {"memory_bytes",
           {{"weights", static_cast<std::int64_t>(entry.memory.weights)},
            {"modulation", static_cast<std::int64_t>(entry.memory.modulation)},
            {"activations", static_cast<std::int64_t>(entry.memory.activations)},
            {"transfer", static_cast<std::int64_t>(entry.memory.transfer)},
            {"context", static_cast<std::int64_t>(entry.memory.context)}}},
          {"wire_bytes_per_rank", static_cast<std::int64_t>(entry.cost.wire_bytes)},
          {"transfers", entry.cost.transfers},
          {"micro_batches", entry.cost.micro_batches}};
}

std::string as_json(const PlannerInput& input, const PlanList& plans) {
  Json root = {{"schema", 1},
               {"device", input.device.name},
               {"device_source", input.device.source},
               {"topology_source", input.graph.source},
               {"world_size", input.world_size},
               {"images", input.lane.images},
               {"latent", {input.lane.height, input.lane.width}},
               {"guidance", input.lane.guidance},
               {"scales", to_string(input.scales.origin)},
               {"residual", input.scales.residual}};
  root["ranked"] = Json::array();
  root["rejected"] = Json::array();
  for (const RankedPlan& entry : plans.ranked) root["ranked"].push_back(ranked_json(entry));
  for (const RejectedPlan& entry : plans.rejected) {
    root["rejected"].push_back({{"plan", format_plan(entry.plan)}, {"reason", entry.reason}});
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const PlannerInput& input, const PlanList& plans) {
  std::ostringstream out;
  out << "device: " << input.device.name << " (" << input.device.source << ")\n"
      << "topology: " << (input.graph.source.empty() ? "-" : input.graph.source) << '\n'
      << "job: " << input.lane.images << " image(s) of " << input.lane.height << " x "
      << input.lane.width << " latents, "
      << (input.lane.branches() == 2 ? "with guidance" : "no guidance") << ", " << input.world_size
      << " rank(s)\n"
      << "times are " << (input.scales.origin == Origin::kMeasured ? "calibrated" : "modelled")
      << ", one step, +- " << fixed(100 * input.scales.residual, 0) << " %\n\n"
      << std::left << std::setw(26) << "plan" << std::right << std::setw(10) << "ms/step"
      << std::setw(18) << "band" << std::setw(9) << "speedup" << std::setw(10) << "GB/GPU"
      << std::setw(11) << "MB sent"
      << "  origin\n";
  for (const RankedPlan& entry : plans.ranked) {
    out << std::left << std::setw(26) << format_plan(entry.plan) << std::right << std::setw(10)
        << fixed(1e3 * entry.seconds, 3) << std::setw(18)
        << fixed(1e3 * entry.seconds_low, 2) + ".." + fixed(1e3 * entry.seconds_high, 2)
        << std::setw(9) << (entry.speedup > 0 ? fixed(entry.speedup, 2) : "-") << std::setw(10)
        << fixed(1e-9 * entry.memory.bytes(), 2) << std::setw(11)
        << fixed(1e-6 * entry.cost.wire_bytes, 3) << "  " << to_string(entry.origin) << '\n';
  }
  if (plans.ranked.empty()) out << "no plan fits\n";
  if (!plans.rejected.empty()) out << "\nrejected\n";
  for (const RejectedPlan& entry : plans.rejected) {
    out << "  " << std::left << std::setw(24) << format_plan(entry.plan) << ' ' << entry.reason
        << '\n';
  }
  return out.str();
}

}  // namespace

std::string plan_report(const PlannerInput& input, const PlanList& plans, bool json) {
  return json ? as_json(input, plans) : as_text(input, plans);
}

}  // namespace ditar
