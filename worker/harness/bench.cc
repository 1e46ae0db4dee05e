#include "bench.h"

#include "bench_check.h"
#include "bench_group.h"
#include "bench_report.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/topology/topology_file.h"
#include "engine_runner.h"
#include "placement.h"
#include "rank_gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void check_options(const BenchOptions& options) {
  require(!options.images.empty() &&
              *std::min_element(options.images.begin(), options.images.end()) >= 1 &&
              options.threads >= 1 && options.requests >= 1 && options.warmup >= 0,
          "bench needs at least one image, thread and request");
  require(options.steps >= 1 && options.steps <= 1000,
          "bench takes 1 to 1000 steps, not " + std::to_string(options.steps));
}

BenchRow describe(const BenchOptions& options, int rank, int size) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  BenchRow row;
  row.who.rank = rank;
  row.who.size = size;
  row.who.host = host.data();
  row.who.device = options.device;
  row.who.cpus = current_cpus();
  row.who.threads = options.threads;
  return row;
}

/// The device's name for the engine; a GPU's UUID is made the only one this process sees.
std::string engine_device(const BenchOptions& options, int rank) {
  if (options.device == "cpu") return "cpu";
  if (options.device == "cuda") return "cuda:" + std::to_string(rank);
  return apply_placement({options.device, options.threads, {}});
}

/// All requests of one size. Complete on rank 0.
BenchSize measure(BenchGroup& group, const BenchOptions& options, const BenchCheck& check,
                  const LoadReply& model, std::int64_t images, EngineRunner& runner, BenchRow row) {
  BenchSize size{.images = images, .rows = {}, .error = {}, .allowed = 0.0};
  std::vector<float> latents;
  for (int number = 0; number < options.warmup + options.requests; ++number) {
    const RunRequest request = make_bench_request(options, images, model, number);
    group.barrier();
    const auto begin = Clock::now();
    runner.run(request, latents);
    if (number >= options.warmup) row.times_ms.push_back(milliseconds_since(begin));
    for (const float value : latents) row.finite = row.finite && std::isfinite(value);
    if (number == 0) size.error = check.error(images, latents);
    row.report = runner.report();
  }
  if (size.error) size.allowed = check.allowed(model.plan);
  for (const std::string& text : group.gather(encode_row(row))) {
    size.rows.push_back(decode_row(text));
  }
  return size;
}

int bench_in(BenchGroup& group, const BenchOptions& options) {
  const std::string device = engine_device(options, group.rank());
  if (!options.topology.empty()) {
    require(options.device != "cpu", "--topology is of GPUs; leave it out on the cpu");
    const TopologyGraph graph = load_topology(options.topology);
    keep_off_refused_peers(graph, rank_gpus(group, graph, device));
  }
  group.connect(device);
  BenchCheck check(group, options, device);
  check.prepare();
  EngineRunner runner(group.communicator(), group.rank(), device, options.threads);
  BenchRow row = describe(options, group.rank(), group.size());
  const auto start = Clock::now();
  BenchResult result{.model = runner.load(options.load),
                     .steps = options.steps,
                     .sizes = {},
                     .exchanges = {},
                     .unchecked = check.unchecked()};
  row.load_ms = milliseconds_since(start);
  for (const std::int64_t images : options.images) {
    if (const ExchangeLog* log = check.log(images)) {
      row.sent_bytes = log->sent_bytes;
      row.exchanges = 0;
      for (const auto& [kind, calls] : log->calls) row.exchanges += calls;
    }
    result.sizes.push_back(measure(group, options, check, result.model, images, runner, row));
  }
  result.exchanges = check.time_exchanges();
  if (group.rank() == 0) std::cout << (options.json ? bench_json(result) : bench_table(result));
  group.finish();
  return to_int(result.good() ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace

int bench(const BenchOptions& options) {
  check_options(options);
  BenchGroup group;
  init_logging("dit-worker", group.rank());
  if (group.size() == 1) return bench_in(group, options);
  // The end of one rank in the middle of it is the end of all, without MPI's farewell.
  try {
    return bench_in(group, options);
  } catch (const Error& error) {
    group.leave(error.message(), to_int(error.exit_code()));
  } catch (const std::exception& error) {
    group.leave(error.what(), to_int(ExitCode::kFailure));
  }
}

}  // namespace ditar
