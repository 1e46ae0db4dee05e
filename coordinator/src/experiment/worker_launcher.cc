#include "ditar/coordinator/worker_launcher.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/interrupt.h"

#include <algorithm>

namespace ditar {
namespace {

class LaneLauncher final : public WorkerLauncher {
 public:
  LaneLauncher(LaneConfig lane, LaunchSettings launch, std::filesystem::path model,
               std::vector<int> cpus, Isolation isolate, std::vector<std::string> devices)
      : lane_(std::move(lane)),
        launch_(std::move(launch)),
        model_(std::move(model)),
        cpus_(std::move(cpus)),
        isolate_(std::move(isolate)),
        devices_(std::move(devices)) {}

  LoadedWorker start(const Arm& arm, const StartOptions& options) override {
    throw_if_interrupted();
    std::filesystem::create_directories(options.log_directory);
    LoadedWorker out;
    out.session = WorkerSession::launch(plan_for(arm, options));
    LoadRequest request;
    request.model_path = (options.model.empty() ? model_ : options.model).string();
    request.knobs_path = arm.knobs.string();
    request.precision = options.precision.empty() ? lane_.precision : options.precision;
    request.memory_cap_bytes = lane_.memory_cap_bytes;
    out.load = out.session->load(request);
    return out;
  }

 private:
  LaunchPlan plan_for(const Arm& arm, const StartOptions& options) const {
    LaunchPlan plan;
    plan.worker = arm.worker;
    plan.expected_build_hash = arm.worker_sha256;
    plan.run_directory = options.log_directory;
    plan.mpirun = launch_.mpirun;
    plan.environment_allow = launch_.environment_allow;
    plan.log_cap_bytes = launch_.log_cap_bytes;
    plan.deadlines.hello = std::chrono::seconds(launch_.hello_seconds);
    plan.deadlines.load = std::chrono::seconds(launch_.load_seconds);
    plan.deadlines.progress = std::chrono::seconds(launch_.progress_seconds);
    plan.deadlines.run = std::chrono::seconds(launch_.run_seconds);
    plan.deadlines.stop = std::chrono::seconds(launch_.stop_seconds);
    plan.cancel = &interrupt_flag();
    plan.isolate = isolate_;
    plan.readable = {options.model.empty() ? model_ : options.model, arm.knobs};
    LaneConfig lane = lane_;
    if (options.threads > 0) lane.threads = options.threads;
    const std::vector<int> workers = share_cpus(lane, cpus_).workers;
    for (int rank = 0; rank < lane.ranks; ++rank) {
      RankPlacement placement;
      placement.threads = lane.threads;
      if (!devices_.empty()) placement.device = devices_[static_cast<std::size_t>(rank)];
      for (int t = 0; t < lane.threads; ++t) {
        const std::size_t at = static_cast<std::size_t>(rank * lane.threads + t) % workers.size();
        if (std::find(placement.cpus.begin(), placement.cpus.end(), workers[at]) ==
            placement.cpus.end()) {
          placement.cpus.push_back(workers[at]);
        }
      }
      std::sort(placement.cpus.begin(), placement.cpus.end());
      plan.placements.push_back(placement);
    }
    return plan;
  }

  LaneConfig lane_;
  LaunchSettings launch_;
  std::filesystem::path model_;
  std::vector<int> cpus_;
  Isolation isolate_;
  std::vector<std::string> devices_;
};

}  // namespace

CpuShare share_cpus(const LaneConfig& lane, const std::vector<int>& cpus) {
  require(!cpus.empty(), "launch: this process may use no CPU");
  const auto wanted = static_cast<std::size_t>(std::max(1, lane.ranks * lane.threads));
  const std::size_t given = std::min(wanted, cpus.size());
  CpuShare share;
  const auto split = cpus.end() - static_cast<std::ptrdiff_t>(given);
  share.workers.assign(split, cpus.end());
  share.coordinator.assign(cpus.begin(), split);
  if (share.coordinator.empty()) share.coordinator = cpus;
  return share;
}

std::unique_ptr<WorkerLauncher> make_lane_launcher(const LaneConfig& lane,
                                                   const LaunchSettings& launch,
                                                   std::filesystem::path model,
                                                   std::vector<int> cpus, Isolation isolate,
                                                   std::vector<std::string> devices) {
  if (static_cast<int>(devices.size()) != (lane.gpus > 0 ? lane.ranks : 0)) {
    throw Unavailable("lane " + lane.name + " has " + std::to_string(lane.ranks) +
                      " rank(s) on GPUs, and " + std::to_string(devices.size()) +
                      " GPU(s) were given to it");
  }
  return std::make_unique<LaneLauncher>(lane, launch, std::move(model), std::move(cpus),
                                        std::move(isolate), std::move(devices));
}

Task task_of(const LaneConfig& lane) {
  Task task;
  task.images = lane.images;
  task.channels = lane.channels;
  task.height = lane.height;
  task.width = lane.width;
  task.classes = lane.classes;
  task.schedule.sampler = lane.sampler;
  task.schedule.timesteps = timesteps_for(lane.sampler, lane.steps);
  task.schedule.guidance = lane.guidance;
  task.schedule.guided_channels = lane.guided_channels;
  return task;
}

}  // namespace ditar
