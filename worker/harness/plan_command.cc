#include "plan_command.h"

#include "bench_group.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/planner/plan_fit.h"
#include "ditar/planner/planner.h"
#include "ditar/topology/topology_file.h"
#include "group_probe.h"
#include "plan_measure.h"
#include "rank_threads.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <thread>

namespace ditar {

namespace {

constexpr std::chrono::minutes kPatience{10};

Arithmetic parse_arithmetic(const std::string& text) {
  if (text == "fp32") return Arithmetic::kF32;
  if (text == "tf32") return Arithmetic::kTf32;
  if (text == "fp16" || text == "bf16") return Arithmetic::kF16;
  throw InvalidArgument("--precision " + text + " is not one of fp32, tf32, fp16, bf16");
}

std::string precision_of(const PlanOptions& options) {
  if (!options.precision.empty()) return options.precision;
  return options.measure && options.device == "cpu" ? "fp32" : "fp16";
}

DeviceModel device_of(const PlanOptions& options, const TopologyGraph& graph) {
  const std::string name =
      !options.gpu.empty() || graph.gpus.empty() ? options.gpu : graph.gpus.front().name;
  if (name.empty() || name == "CPU") {
    return cpu_model(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  }
  if (const DeviceModel* model = find_device_model(name)) return *model;
  std::string known;
  for (const DeviceModel& model : device_models())
    known += (known.empty() ? "" : ", ") + model.name;
  throw InvalidArgument("no figures are known for GPU \"" + name +
                        "\"; choose one with --gpu: " + known);
}

PlannerInput input_of(const PlanOptions& options) {
  PlannerInput input;
  input.lane.images = options.images;
  input.lane.height = options.size;
  input.lane.width = options.size;
  input.lane.steps = options.steps;
  input.lane.guidance = options.guidance;
  input.lane.arithmetic = parse_arithmetic(precision_of(options));
  input.world_size = options.ranks;
  if (!options.topology.empty()) input.graph = load_topology(options.topology);
  input.memory_cap_bytes = options.memory_cap_bytes;
  return input;
}

PlanFit fit_of(const PlanOptions& options, const PlannerInput& input) {
  PlanFit fit{input.device.name, precision_of(options), {}};
  if (options.fit.empty() || !std::filesystem::exists(options.fit)) return fit;
  PlanFit stored = load_fit(options.fit);
  require(stored.device == fit.device && stored.precision == fit.precision,
          options.fit + " is a fit of " + stored.device + " in " + stored.precision + ", not of " +
              fit.device + " in " + fit.precision + "; give another file with --fit");
  return stored;
}

void take_shape(const LoadReply& model, PlannerInput& input) {
  input.model = {.hidden = model.hidden,
                 .depth = model.depth,
                 .heads = model.heads,
                 .patch = model.patch,
                 .in_channels = model.channels,
                 .out_channels = model.channels * (model.learned_variance ? 2 : 1),
                 .classes = model.classes};
  input.lane.height = model.height;
  input.lane.width = model.width;
}

std::string job_of(const PlannerInput& input) {
  std::ostringstream text;
  text << "hidden " << input.model.hidden << ", " << input.model.depth << " layers, "
       << input.model.heads << " heads, patch " << input.model.patch << "; " << input.lane.images
       << " image(s) of " << input.lane.height << " x " << input.lane.width << ", guidance "
       << input.lane.guidance;
  return text.str();
}

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string percent(double predicted, double measured) {
  std::ostringstream text;
  text << std::showpos << std::fixed << std::setprecision(1) << 100.0 * (predicted / measured - 1.0)
       << " %";
  return text.str();
}

/// Predicted before and after the fit against what was measured.
void print_fit(const std::vector<MeasuredPlan>& plans, const StepScales& scales) {
  std::cout << "measured plans, ms a step\n"
            << std::left << std::setw(26) << "plan" << std::right << std::setw(12) << "measured"
            << std::setw(12) << "modelled" << std::setw(12) << "off by" << std::setw(12) << "fitted"
            << std::setw(12) << "off by"
            << "\n"
            << std::fixed << std::setprecision(3);
  for (const MeasuredPlan& plan : plans) {
    const double before = plan.step.predicted.seconds(),
                 after = scales.seconds(plan.step.predicted);
    std::cout << std::left << std::setw(26) << format_plan(plan.plan) << std::right << std::setw(12)
              << 1e3 * plan.step.seconds << std::setw(12) << 1e3 * before << std::setw(12)
              << percent(before, plan.step.seconds) << std::setw(12) << 1e3 * after << std::setw(12)
              << percent(after, plan.step.seconds) << "\n";
  }
  std::cout << "\n";
}

class Measurement {
 public:
  explicit Measurement(const PlanOptions& options) : options_(options) {
    measure_.load.model_path = options.model;
    measure_.load.precision = precision_of(options);
    measure_.load.memory_cap_bytes = options.memory_cap_bytes;
    measure_.device = options.device;
    measure_.threads = options.threads;
    measure_.requests = options.requests;
  }

  /// On every rank; `world` is null for one. Complete on rank 0.
  void run(Communicator* world, const std::vector<std::string>& hosts) {
    const int rank = world == nullptr ? 0 : world->rank();
    PlannerInput input = input_of(options_);
    take_shape(read_model(measure_, rank), input);
    if (options_.device == "cpu" && input.graph.gpus.empty()) input.graph = graph_of_ranks(hosts);
    input.device = device_of(options_, input.graph);
    PlanFit fit = fit_of(options_, input);
    if (world != nullptr) {
      const std::vector<int> gpus = ranks_as_gpus(input.graph, world->size());
      const Device device = parse_device(options_.device == "cuda" ? "cuda:" + std::to_string(rank)
                                                                   : options_.device);
      if (!probe_group(*world, device, gpus, input.graph)) {
        throw Unavailable("the links do not pass their probe (" + input.graph.notes.back() +
                          "); see dit-worker probe");
      }
    }
    if (!fit.points.empty()) input.scales = fit.scales();
    PlanList list = plans_for(input);
    const auto top = std::min(list.ranked.size(), static_cast<std::size_t>(options_.top));
    const std::vector<RankedPlan> first(list.ranked.begin(),
                                        list.ranked.begin() + static_cast<std::ptrdiff_t>(top));
    require(!first.empty(), "no plan fits this job, so there is nothing to measure");
    const auto measured = measure_plans(world, input, first, measure_);
    if (rank != 0) return;
    for (const MeasuredPlan& plan : measured) {
      fit.add({job_of(input), format_plan(plan.plan), plan.step});
    }
    input.scales = fit.scales();
    store(fit);
    if (!options_.json) print_fit(measured, input.scales);
    std::cout << plan_report(input, plans_for(input), options_.json);
  }

 private:
  /// Rank r measures the graph's r-th GPU.
  static std::vector<int> ranks_as_gpus(const TopologyGraph& graph, int ranks) {
    require(static_cast<int>(graph.gpus.size()) >= ranks,
            "the topology has " + std::to_string(graph.gpus.size()) + " GPUs for " +
                std::to_string(ranks) + " ranks; give this machine's with --topology");
    std::vector<int> gpus;
    for (int r = 0; r < ranks; ++r) gpus.push_back(graph.gpus[static_cast<std::size_t>(r)].index);
    return gpus;
  }
  void store(const PlanFit& fit) const {
    if (options_.fit.empty()) return;
    std::ofstream file(options_.fit);
    file << to_fit_json(fit);
    if (!file.flush())
      throw IoError(options_.fit + " cannot be written; check path and permissions");
  }

  const PlanOptions& options_;
  MeasureOptions measure_;
};

int measure_on_threads(const PlanOptions& options) {
  require(options.device == "cpu" || options.ranks == 1,
          "several GPUs are measured under mpirun: mpirun -np " + std::to_string(options.ranks) +
              " dit-worker plan --measure ...");
  Measurement measurement(options);
  const std::vector<std::string> hosts(static_cast<std::size_t>(options.ranks), host_name());
  if (options.ranks == 1) {
    measurement.run(nullptr, hosts);
  } else {
    on_rank_threads(options.ranks, kPatience,
                    [&](Communicator& world) { measurement.run(&world, hosts); });
  }
  return to_int(ExitCode::kOk);
}

int measure(const PlanOptions& options) {
  require(options.device == "cpu" || options.device == "cuda",
          "--device " + options.device + " is not one of cpu, cuda");
  require(options.top >= 1 && options.ranks >= 1, "--top and --ranks must be at least 1");
  BenchGroup group;
  init_logging("dit-worker", group.size() > 1 ? group.rank() : -1);
  if (group.size() == 1) return measure_on_threads(options);
  try {
    PlanOptions of_group = options;
    of_group.ranks = group.size();
    group.connect(options.device == "cpu" ? "cpu" : "cuda:" + std::to_string(group.rank()));
    Measurement(of_group).run(group.communicator(), group.gather(host_name()));
    group.finish();
    return to_int(ExitCode::kOk);
  } catch (const Error& error) {
    group.leave(error.message(), to_int(error.exit_code()));
  } catch (const std::exception& error) {
    group.leave(error.what(), to_int(ExitCode::kFailure));
  }
}

}  // namespace

int plan_command(const PlanOptions& options) {
  if (options.measure) return measure(options);
  PlannerInput input = input_of(options);
  input.model = dit_model(options.model);
  input.device = device_of(options, input.graph);
  if (!options.fit.empty()) {
    if (!std::filesystem::exists(options.fit)) (void)load_fit(options.fit);
    input.scales = fit_of(options, input).scales();
  }
  std::cout << plan_report(input, plans_for(input), options.json);
  return to_int(ExitCode::kOk);
}

}  // namespace ditar
