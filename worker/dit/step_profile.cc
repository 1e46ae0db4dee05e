// DitEngine::profile_step. On the CPU the phase clock's marks and an outer clock see the same
// steps. On a GPU the step is recorded as a graph, as it is served; a trace gives each kernel's own
// time and events the whole step's, without the trace. Which op a kernel of the graph belongs to is
// known from the same ops enqueued one by one, where every op tags what it launches.
#include "ceilings.h"
#include "dit_engine.h"
#include "ditar/config/error.h"
#include "ditar/kernels/cpu_threads.h"
#include "ditar/kernels/kernel_trace.h"

#include <algorithm>
#include <utility>

namespace ditar {
namespace {

constexpr std::string_view kPrefix = "denoise/";

std::string group_name(const std::string& phase) {
  return phase.substr(0, kPrefix.size()) == kPrefix ? phase.substr(kPrefix.size()) : phase;
}

PhaseRecord& group_of(std::vector<PhaseRecord>& groups, const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const PhaseRecord& group) { return group.name == name; });
  if (found != groups.end()) return *found;
  groups.push_back({name, 0.0, 0, 0.0, 0.0});
  return groups.back();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The rest of the step, with every launch's cost and every wait.
void add_gaps(StepProfile& profile) {
  double sum = 0.0;
  for (const PhaseRecord& group : profile.groups) sum += group.milliseconds;
  profile.groups.push_back({"gaps", profile.step_ms - sum, 1, 0.0, 0.0});
}

/// The parts of a step in the order of their work.
struct Enqueued {
  std::vector<std::string> names;
  std::vector<Work> work;
};

/// Whether every one of the `repeats` runs in `graph` did what `plain` did, in that order.
bool alike(const std::vector<TracedWork>& plain, const std::vector<TracedWork>& graph,
           int repeats) {
  if (graph.size() != plain.size() * static_cast<std::size_t>(repeats)) return false;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph[i].name != plain[i % plain.size()].name) return false;
  }
  return true;
}

}  // namespace

void DitEngine::profile_on_host(std::size_t k, int repeats, StepProfile& profile) {
  const PhaseClock kept = std::exchange(clock_, PhaseClock(true));
  advance(k, false);
  clock_.take();
  PhaseClock::Clock::duration whole{};
  for (int run = 0; run < repeats; ++run) {
    copy(start_, x_, stream_);
    const auto begin = PhaseClock::Clock::now();
    advance(k, false);
    whole += PhaseClock::Clock::now() - begin;
  }
  const std::vector<PhaseRecord> records = clock_.take();
  clock_ = kept;
  profile.method = "host clock around every op, mean of " + std::to_string(repeats) + " steps";
  profile.step_ms = std::chrono::duration<double, std::milli>(whole).count() / repeats;
  for (const PhaseRecord& record : records) {
    profile.groups.push_back({group_name(record.name), record.milliseconds / repeats,
                              record.calls / repeats, record.flops / repeats,
                              record.bytes / repeats});
  }
  add_gaps(profile);
}

void DitEngine::profile_on_gpu(std::size_t k, int repeats, StepProfile& profile) {
  advance(k, false);  // what loads at first use loads here
  stream_.view().synchronize();
  const Graph graph(stream_, [&] { advance(k, false); });
  std::vector<double> whole;
  for (int run = 0; run <= repeats; ++run) {
    Event begin(device_, true), end(device_, true);
    copy(start_, x_, stream_);
    begin.record(stream_);
    graph.launch(stream_);
    end.record(stream_);
    const double ms = end.elapsed_ms_since(begin);
    if (run > 0) whole.push_back(ms);
  }
  profile.step_ms = median(whole);
  if (const std::string why = KernelTrace::hindrance(); !why.empty()) {
    profile.method = "events around whole steps; no groups: " + why;
    return;
  }
  Enqueued ops;
  std::vector<TracedWork> plain, traced;
  {
    KernelTrace trace;
    copy(start_, x_, stream_);
    trace.take(stream_);
    clock_.watch([&](const std::string& name, const Work& work) {
      ops.names.push_back(group_name(name));
      ops.work.push_back(work);
      trace.tag(std::ssize(ops.names));
    });
    trace.tag(0);
    try {
      advance(k, false);
    } catch (...) {
      clock_.watch({});
      throw;
    }
    clock_.watch({});
    plain = trace.take(stream_);
    const Graph again(stream_, [&] { advance(k, false); });
    for (int run = 0; run <= repeats; ++run) {
      again.launch(stream_);
      std::vector<TracedWork> one = trace.take(stream_);
      if (run > 0) traced.insert(traced.end(), one.begin(), one.end());
    }
  }
  const bool as_served = alike(plain, traced, repeats);
  profile.method = as_served ? "CUPTI kernel times within graphs, median of " +
                                   std::to_string(repeats) + " steps"
                             : "CUPTI kernel times of one step enqueued op by op";
  for (std::size_t i = 0; i < ops.names.size(); ++i) {
    PhaseRecord& group = group_of(profile.groups, ops.names[i]);
    group.flops += ops.work[i].flops;
    group.bytes += ops.work[i].bytes;
    ++group.calls;
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    std::vector<double> times;
    for (std::size_t at = i; as_served && at < traced.size(); at += plain.size()) {
      times.push_back(traced[at].microseconds);
    }
    const auto tag = static_cast<std::size_t>(plain[i].tag);
    const bool known = plain[i].tag >= 0 && tag < ops.names.size();
    group_of(profile.groups, known ? ops.names[tag] : "other").milliseconds +=
        1e-3 * (as_served ? median(times) : plain[i].microseconds);
  }
  add_gaps(profile);
}

StepProfile DitEngine::profile_step(std::int64_t k, int repeats) {
  require(shape_.images > 0, "profile_step before prepare; call prepare first");
  require(mesh().size() == 1, "profile_step is for one rank alone, not a plan of " + plan());
  require(repeats >= 1, "profile_step needs at least one repeat");
  require(k >= 0 && k < std::ssize(sampler_.steps),
          "step " + std::to_string(k) + " is outside the prepared schedule");
  set_cpu_threads(threads_);
  StepProfile profile;
  profile.device = device_name(device_);
  const Ceilings ceilings =
      measure_ceilings(dtype_, options_.precision == Precision::kTf32, stream_);
  profile.matmul_flops_per_s = ceilings.matmul_flops_per_s;
  profile.copy_bytes_per_s = ceilings.copy_bytes_per_s;
  if (on_host()) {
    profile_on_host(static_cast<std::size_t>(k), repeats, profile);
  } else {
    profile_on_gpu(static_cast<std::size_t>(k), repeats, profile);
  }
  return profile;
}

}  // namespace ditar
