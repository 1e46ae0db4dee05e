#include "engine_runner.h"

#include "ditar/config/error.h"
#include "ditar/parallel/pulse.h"

#include <sys/resource.h>

#include <chrono>
#include <cmath>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;
// Announced to the other ranks: reading a large model, and recording graphs.
constexpr std::chrono::minutes kLoading{5};
constexpr std::chrono::minutes kPreparing{2};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// JSON has no NaN; a record that is none says -1.
double finite(double value) { return std::isfinite(value) ? value : -1.0; }

RequestSchedule to_schedule(const ScheduleSpec& spec) {
  RequestSchedule schedule;
  schedule.sampler = parse_sampler(spec.sampler);
  schedule.timesteps = spec.timesteps;
  schedule.guidance = spec.guidance;
  schedule.guided_channels = spec.guided_channels;
  schedule.eta = spec.eta;
  schedule.noise_seed = spec.noise_seed;
  return schedule;
}

}  // namespace

LoadReply EngineRunner::load(const LoadRequest& request) {
  if (engine_) throw TransportError("a model is loaded already; a group loads once");
  const auto start = Clock::now();
  pulse_tick("loading", -1, kLoading);
  EngineOptions options;
  options.model_path = request.model_path;
  options.knobs_path = request.knobs_path;
  options.precision = parse_precision(request.precision);
  options.parity = parse_parity(request.parity);
  options.device = device_;
  options.threads = threads_;
  options.plan = request.plan;
  options.memory_cap_bytes = request.memory_cap_bytes;
  engine_ = make_engine(options, communicator_);
  const ModelFacts facts = engine_->facts();
  milliseconds_ = milliseconds_since(start);
  LoadReply reply;
  reply.layout = facts.layout;
  reply.parity = facts.parity;
  reply.plan = engine_->plan();
  reply.knobs_json = engine_->knobs_json();
  reply.parameters = facts.parameters;
  reply.channels = facts.channels;
  reply.height = facts.height;
  reply.width = facts.width;
  reply.patch = facts.patch;
  reply.hidden = facts.hidden;
  reply.depth = facts.depth;
  reply.heads = facts.heads;
  reply.classes = facts.classes;
  reply.learned_variance = facts.learned_variance;
  return reply;
}

void EngineRunner::run(const RunRequest& request, std::vector<float>& latents) {
  if (!engine_) throw TransportError("a run was asked for before a model was loaded");
  const auto start = Clock::now();
  const RequestShape shape{request.images, request.channels, request.height, request.width};
  pulse_tick("prepare", -1, kPreparing);
  engine_->prepare(shape, to_schedule(request.schedule), request.labels);
  pulse_tick("set_latents");
  engine_->set_latents(request.latents);
  const auto count = static_cast<std::int64_t>(request.schedule.timesteps.size());
  for (std::int64_t k = 0; k < count; ++k) {
    pulse_step(k);
    pulse_tick("the start of a step");
    engine_->step(k);
    steps_.fetch_add(1, std::memory_order_relaxed);
  }
  if (rank_ == 0) latents.resize(static_cast<std::size_t>(shape.count()));
  pulse_tick("read_latents");
  engine_->read_latents(latents);
  pulse_step(-1);
  pulse_tick("the end of a request");
  milliseconds_ = milliseconds_since(start);
}

RankReport EngineRunner::report() {
  RankReport report;
  report.rank = rank_;
  report.milliseconds = milliseconds_;
  report.resident_bytes = peak_resident_bytes();
  if (!engine_) return report;
  report.planned_bytes = engine_->planned_bytes();
  report.peak_bytes = engine_->peak_bytes();
  for (const PhaseRecord& phase : engine_->take_phases()) {
    report.phases.push_back({phase.name, finite(phase.milliseconds), phase.calls,
                             finite(phase.flops), finite(phase.bytes)});
  }
  return report;
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace ditar
