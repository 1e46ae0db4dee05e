#include "plan_measure.h"

#include "ditar/config/philox.h"
#include "ditar/parallel/pulse.h"
#include "engine_runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;

RunRequest make_request(const LaneShape& lane, const LoadReply& model, int number) {
  RunRequest request;
  request.images = lane.images;
  request.channels = model.channels;
  request.height = lane.height;
  request.width = lane.width;
  request.latents.resize(
      static_cast<std::size_t>(lane.images * model.channels * lane.height * lane.width));
  philox_normal(1, static_cast<std::uint64_t>(number), 0, std::span(request.latents));
  for (std::int64_t i = 0; i < lane.images; ++i) {
    request.labels.push_back(
        static_cast<std::int32_t>(i % std::max<std::int64_t>(1, model.classes)));
  }
  request.schedule.guidance = lane.guidance;
  for (int k = lane.steps - 1; k >= 0; --k) {
    request.schedule.timesteps.push_back(k * 1000 / lane.steps);
  }
  return request;
}

/// Median seconds of a step on this rank.
double time_steps(Communicator* group, const PlannerInput& input, const Plan& plan,
                  const MeasureOptions& options, int world_rank) {
  EngineRunner runner(
      group, group == nullptr ? 0 : group->rank(),
      options.device == "cuda" ? "cuda:" + std::to_string(world_rank) : options.device,
      options.threads);
  LoadRequest load = options.load;
  load.plan = group == nullptr ? "" : format_plan(plan);
  const LoadReply model = runner.load(load);
  std::vector<double> seconds;
  std::vector<float> latents;
  for (int number = 0; number <= options.requests; ++number) {
    const RunRequest request = make_request(input.lane, model, number);
    const auto start = Clock::now();
    runner.run(request, latents);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (number > 0) seconds.push_back(took / input.lane.steps);
  }
  std::nth_element(seconds.begin(),
                   seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

/// The largest of all ranks' values, on every rank.
double slowest(Communicator& world, double mine) {
  const PulseWait waiting("the ranks that measure a plan");
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, all.data(), 1, DType::kF64, {});
  return *std::max_element(all.begin(), all.end());
}

}  // namespace

LoadReply read_model(const MeasureOptions& options, int rank) {
  EngineRunner runner(nullptr, 0,
                      options.device == "cuda" ? "cuda:" + std::to_string(rank) : options.device,
                      options.threads);
  LoadRequest load = options.load;
  load.plan.clear();
  return runner.load(load);
}

std::vector<MeasuredPlan> measure_plans(Communicator* world, const PlannerInput& input,
                                        const std::vector<RankedPlan>& plans,
                                        const MeasureOptions& options) {
  require(options.requests >= 1, "a plan is measured with at least one request");
  std::vector<MeasuredPlan> measured;
  for (const RankedPlan& entry : plans) {
    double seconds = 0.0;
    if (world == nullptr) {
      seconds = time_steps(nullptr, input, entry.plan, options, 0);
    } else {
      const bool mine = world->rank() < entry.plan.ranks();
      const auto group = world->split(mine ? 0 : 1, world->rank());
      if (mine) {
        Communicator* const used = entry.plan.ranks() == 1 ? nullptr : group.get();
        seconds = time_steps(used, input, entry.plan, options, world->rank());
      }
      seconds = slowest(*world, seconds);
    }
    measured.push_back({entry.plan, {entry.cost, seconds}});
  }
  return measured;
}

}  // namespace ditar
