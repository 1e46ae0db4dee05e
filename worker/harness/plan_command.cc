#include "plan_command.h"

#include "ditar/config/error.h"
#include "ditar/planner/planner.h"
#include "ditar/topology/topology_file.h"

#include <algorithm>
#include <iostream>
#include <thread>

namespace ditar {

namespace {

Arithmetic parse_arithmetic(const std::string& text) {
  if (text == "fp32") return Arithmetic::kF32;
  if (text == "tf32") return Arithmetic::kTf32;
  if (text == "fp16" || text == "bf16") return Arithmetic::kF16;
  throw InvalidArgument("--precision " + text + " is not one of fp32, tf32, fp16, bf16");
}

DeviceModel device_of(const PlanOptions& options, const TopologyGraph& graph) {
  const std::string name =
      !options.gpu.empty() || graph.gpus.empty() ? options.gpu : graph.gpus.front().name;
  if (name.empty()) {
    return cpu_model(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  }
  if (const DeviceModel* model = find_device_model(name)) return *model;
  std::string known;
  for (const DeviceModel& model : device_models())
    known += (known.empty() ? "" : ", ") + model.name;
  throw InvalidArgument("no figures are known for GPU \"" + name +
                        "\"; choose one with --gpu: " + known);
}

}  // namespace

int plan_command(const PlanOptions& options) {
  PlannerInput input;
  input.model = dit_model(options.model);
  input.lane.images = options.images;
  input.lane.height = options.size;
  input.lane.width = options.size;
  input.lane.steps = options.steps;
  input.lane.guidance = options.guidance;
  input.lane.arithmetic = parse_arithmetic(options.precision);
  input.world_size = options.ranks;
  if (!options.topology.empty()) input.graph = load_topology(options.topology);
  input.device = device_of(options, input.graph);
  input.memory_cap_bytes = options.memory_cap_bytes;
  std::cout << plan_report(input, plans_for(input), options.json);
  return to_int(ExitCode::kOk);
}

}  // namespace ditar
