#include "bench_check.h"

#include "ditar/config/philox.h"
#include "ditar/kernels/device.h"
#include "ditar/parallel/pulse.h"
#include "ditar/topology/plan.h"
#include "exchange_timer.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace ditar {

namespace {

using Json = nlohmann::json;
constexpr int kRepeats = 20;
constexpr std::chrono::seconds kExchangePatience{10};

/// A copy of the knobs in which every step is enqueued anew, so that every call can be counted.
class KnobsWithoutGraphs {
 public:
  explicit KnobsWithoutGraphs(const std::string& original)
      : path_(std::filesystem::temp_directory_path() /
              ("dit-worker-knobs." + std::to_string(::getpid()) + ".json")) {
    Json knobs = Json::object();
    if (!original.empty()) {
      std::ifstream in(original);
      knobs = Json::parse(in, nullptr, false);
      if (!knobs.is_object()) knobs = Json::object();  // the engine refuses it with its place
    }
    knobs["graph_capture"] = false;
    std::ofstream(path_) << knobs.dump();
  }
  ~KnobsWithoutGraphs() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  KnobsWithoutGraphs(const KnobsWithoutGraphs&) = delete;
  KnobsWithoutGraphs& operator=(const KnobsWithoutGraphs&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Kinds that all ranks time: what one sends another receives.
ExchangeKind as_timed(ExchangeKind kind) {
  if (kind.op == ExchangeOp::kSend || kind.op == ExchangeOp::kRecv) kind.op = ExchangeOp::kSendRecv;
  return kind;
}

std::string encode_calls(const ExchangeLog& log) {
  std::map<ExchangeKind, std::int64_t> most;
  for (const auto& [kind, calls] : log.calls) {
    std::int64_t& known = most[as_timed(kind)];
    known = std::max(known, calls);
  }
  Json list = Json::array();
  for (const auto& [kind, calls] : most) {
    list.push_back(
        {kind.group, static_cast<int>(kind.op), kind.count, static_cast<int>(kind.dtype), calls});
  }
  return list.dump();
}

void add_calls(const std::string& text, std::map<ExchangeKind, std::int64_t>& calls) {
  for (const Json& item : Json::parse(text)) {
    const ExchangeKind kind{item.at(0).get<int>(), static_cast<ExchangeOp>(item.at(1).get<int>()),
                            item.at(2).get<std::int64_t>(),
                            static_cast<DType>(item.at(3).get<int>())};
    std::int64_t& known = calls[kind];
    known = std::max(known, item.at(4).get<std::int64_t>());
  }
}

}  // namespace

RunRequest make_bench_request(const BenchOptions& options, std::int64_t images,
                              const LoadReply& model, int number) {
  RunRequest request;
  request.images = images;
  request.channels = model.channels;
  request.height = model.height;
  request.width = model.width;
  const std::int64_t count = model.channels * model.height * model.width;
  request.latents.resize(static_cast<std::size_t>(images * count));
  for (std::int64_t image = 0; image < images; ++image) {
    const std::int64_t number_of_image = number * images + image;
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

void BenchCheck::prepare() {
  if (!options_.check) unchecked_ = "--no-check";
  if (!options_.check || group_.size() == 1) return;
  if (group_.rank() == 0) run_alone();
  group_.barrier();
  run_counted();
}

void BenchCheck::run_alone() {
  EngineRunner runner(nullptr, 0, device_, options_.threads);
  LoadRequest load = options_.load;
  load.plan.clear();
  try {
    const LoadReply model = runner.load(load);
    for (const std::int64_t images : options_.images) {
      runner.run(make_bench_request(options_, images, model, 0), alone_[images]);
    }
  } catch (const OutOfMemory& error) {
    alone_.clear();
    unchecked_ = "one rank has not the memory: " + error.message();
  }
}

void BenchCheck::run_counted() {
  std::optional<KnobsWithoutGraphs> knobs;
  LoadRequest load = options_.load;
  if (parse_device(device_).type != DeviceType::kCpu) {
    load.knobs_path = knobs.emplace(load.knobs_path).path();
  }
  ExchangeLog log;
  const auto metered = make_metered_communicator(*group_.communicator(), log);
  EngineRunner runner(metered.get(), group_.rank(), device_, options_.threads);
  const LoadReply model = runner.load(load);
  for (const std::int64_t images : options_.images) {
    log.calls.clear();
    log.sent_bytes = 0.0;
    std::vector<float> latents;
    runner.run(make_bench_request(options_, images, model, 0), latents);
    logs_[images] = log;
  }
}

std::optional<double> BenchCheck::error(std::int64_t images,
                                        const std::vector<float>& latents) const {
  const auto found = alone_.find(images);
  if (found == alone_.end()) return std::nullopt;
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    const double one = found->second[i], d = latents.at(i) - one;
    difference += d * d;
    size += one * one;
  }
  return difference == 0.0 ? 0.0 : std::sqrt(difference / size);
}

double BenchCheck::allowed(const std::string& plan) const {
  const Plan split = parse_plan(plan);
  const bool cpu = parse_device(device_).type == DeviceType::kCpu;
  if (cpu && split.tensor * split.sequence * split.pipeline == 1) return 0.0;
  if (options_.load.precision == "tf32") return 2e-3;
  if (options_.load.precision == "fp16") return 5e-3;
  if (options_.load.precision == "bf16") return 3e-2;
  return 1e-5;
}

std::vector<ExchangeRow> BenchCheck::time_exchanges() {
  if (logs_.empty()) return {};
  const ExchangeLog& log = logs_.at(options_.images.back());
  std::map<ExchangeKind, std::int64_t> calls;
  for (const std::string& text : group_.gather(encode_calls(log))) add_calls(text, calls);
  std::vector<std::unique_ptr<Communicator>> owned;
  std::vector<Communicator*> groups{group_.communicator()};
  for (std::size_t g = 1; g < log.groups.size(); ++g) {
    const ExchangeGroup& from = log.groups[g];
    owned.push_back(groups[static_cast<std::size_t>(from.parent)]->split(from.color, from.key));
    groups.push_back(owned.back().get());
  }
  std::vector<ExchangeRow> rows;
  for (const auto& [kind, count] : calls) {
    Communicator& among = *groups[static_cast<std::size_t>(kind.group)];
    const ExchangeTime own = time_exchange(among, kind.op, kind.count, kind.dtype,
                                           parse_device(device_), kRepeats, kExchangePatience);
    ExchangeRow row{
        .kind = kind, .ranks = among.size(), .calls = count, .times_us = {}, .wrong = {}};
    for (const std::string& text : group_.gather(Json{own.seconds, own.wrong}.dump())) {
      const Json each = Json::parse(text);
      row.times_us.push_back(1e6 * each.at(0).get<double>());
      row.wrong.push_back(each.at(1).get<std::int64_t>());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ditar
