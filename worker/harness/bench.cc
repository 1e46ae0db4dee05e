#include "bench.h"

#include "bench_group.h"
#include "bench_report.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/config/philox.h"
#include "engine_runner.h"
#include "placement.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Fresh noise and labels for request `number`, the same on every rank.
RunRequest make_request(const BenchOptions& options, const LoadReply& model, int number) {
  RunRequest request;
  request.images = options.images;
  request.channels = model.channels;
  request.height = model.height;
  request.width = model.width;
  const std::int64_t count = model.channels * model.height * model.width;
  request.latents.resize(static_cast<std::size_t>(options.images * count));
  for (std::int64_t image = 0; image < options.images; ++image) {
    const std::int64_t number_of_image = number * options.images + image;
    request.labels.push_back(static_cast<std::int32_t>(number_of_image % model.classes));
    philox_normal(
        options.seed, static_cast<std::uint64_t>(number_of_image), 0,
        std::span(request.latents)
            .subspan(static_cast<std::size_t>(image * count), static_cast<std::size_t>(count)));
  }
  request.schedule.sampler = options.sampler;
  request.schedule.guidance = options.guidance;
  request.schedule.noise_seed = options.seed;
  for (int k = options.steps - 1; k >= 0; --k) {
    request.schedule.timesteps.push_back(k * 1000 / options.steps);
  }
  return request;
}

void check_options(const BenchOptions& options) {
  require(
      options.images >= 1 && options.threads >= 1 && options.requests >= 1 && options.warmup >= 0,
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

int bench_in(BenchGroup& group, const BenchOptions& options) {
  const std::string device = engine_device(options, group.rank());
  group.connect(device);
  EngineRunner runner(group.communicator(), group.rank(), device, options.threads);

  BenchRow row = describe(options, group.rank(), group.size());
  const auto start = Clock::now();
  const LoadReply model = runner.load(options.load);
  row.load_ms = milliseconds_since(start);
  std::vector<float> latents;
  for (int number = 0; number < options.warmup + options.requests; ++number) {
    const RunRequest request = make_request(options, model, number);
    group.barrier();
    const auto begin = Clock::now();
    runner.run(request, latents);
    if (number >= options.warmup) row.times_ms.push_back(milliseconds_since(begin));
    for (const float value : latents) row.finite = row.finite && std::isfinite(value);
    row.report = runner.report();
  }
  std::vector<BenchRow> rows;
  for (const std::string& text : group.gather(encode_row(row))) rows.push_back(decode_row(text));
  if (group.rank() == 0) {
    std::cout << (options.json ? bench_json(rows, model, options.images, options.steps)
                               : bench_table(rows, model, options.images, options.steps));
  }
  group.finish();
  bool finite = true;
  for (const BenchRow& other : rows) finite = finite && other.finite;
  return to_int(finite ? ExitCode::kOk : ExitCode::kFailure);
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
