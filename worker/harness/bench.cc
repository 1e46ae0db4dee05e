#include "bench.h"

#include "bench_report.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/config/philox.h"
#include "group_communicator.h"
#include "rank_context.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::minutes kPatience{10};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Under a launcher one MPI rank, else alone without MPI.
class BenchGroup {
 public:
  BenchGroup() {
    if (launcher_facts().size < 1) return;
    mpi_ = std::make_unique<MpiRuntime>();
    bootstrap_ = make_mpi_bootstrap(kPatience);
  }
  int rank() const { return mpi_ ? mpi_->rank() : 0; }
  int size() const { return mpi_ ? mpi_->size() : 1; }
  void barrier() {
    if (bootstrap_) bootstrap_->barrier();
  }
  std::vector<BenchRow> gather(const BenchRow& mine) {
    if (!bootstrap_) return {mine};
    const std::string text = encode_row(mine);
    std::vector<BenchRow> rows;
    for (const auto& blob : bootstrap_->all_gather(std::as_bytes(std::span(text)))) {
      rows.push_back(decode_row({reinterpret_cast<const char*>(blob.data()), blob.size()}));
    }
    return rows;
  }

 private:
  std::unique_ptr<MpiRuntime> mpi_;
  std::unique_ptr<Bootstrap> bootstrap_;
};

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

}  // namespace

int bench(const BenchOptions& options) {
  check_options(options);
  BenchGroup group;
  init_logging("dit-worker", group.rank());
  const std::string device = engine_device(options, group.rank());
  auto communicator = make_group_communicator(device, group.size(), kPatience);
  EngineRunner runner(communicator.get(), group.rank(), device, options.threads);

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
  const auto rows = group.gather(row);
  if (group.rank() == 0) {
    std::cout << (options.json ? bench_json(rows, model, options.images, options.steps)
                               : bench_table(rows, model, options.images, options.steps));
  }
  bool finite = true;
  for (const BenchRow& other : rows) finite = finite && other.finite;
  return to_int(finite ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace ditar
