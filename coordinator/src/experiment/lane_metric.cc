#include "experiment/lane_metric.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/attempts.h"
#include "ditar/topology_nvml/gpu_sampler.h"
#include "experiment/records.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace ditar {
namespace {

/// Launchers hold no model; what they need is the same for both arms.
bool is_launcher(pid_t pid) {
  std::error_code error;
  const auto exe =
      std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).filename();
  for (const char* name :
       {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte", "dit-isolate"}) {
    if (exe == name) return true;
  }
  return false;
}

/// Bytes of "VmHWM:  1234 kB"; 0 for a process that is gone.
std::int64_t high_water_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

class ResidentMeter final : public CostMeter {
 public:
  std::int64_t after_request(bool, const WorkerSession& session) override {
    std::int64_t bytes = 0;
    for (const pid_t pid : session.pids()) {
      if (!is_launcher(pid)) bytes += high_water_bytes(pid);
    }
    return bytes;
  }
};

class SharedMemoryMeter final : public CostMeter {
 public:
  explicit SharedMemoryMeter(std::function<std::uint64_t()> read) : read_(std::move(read)) {}

  void begin_block() override {
    held_ = {};
    peak_ = {};
    last_ = now();
  }
  void after_start(bool is_b) override {
    settle(is_b, now());
    last_arm_ = is_b;
  }
  void before_request(bool) override {
    settle(last_arm_, now());  // what moved since the last answer is of who gave that
    most_ = last_;
    watcher_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        most_ = std::max(most_, now());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  std::int64_t after_request(bool is_b, const WorkerSession&) override {
    last_arm_ = is_b;
    watcher_ = {};  // stops and joins
    const std::int64_t end = now();
    const std::size_t arm = is_b ? 1 : 0;
    peak_[arm] = std::max(peak_[arm], held_[arm] + std::max(most_, end) - last_);
    settle(is_b, end);
    return std::max<std::int64_t>(peak_[arm], 1);
  }

 private:
  std::int64_t now() const { return static_cast<std::int64_t>(read_()); }
  void settle(bool is_b, std::int64_t used) {
    const std::size_t arm = is_b ? 1 : 0;
    held_[arm] += used - last_;
    peak_[arm] = std::max(peak_[arm], held_[arm]);
    last_ = used;
  }

  std::function<std::uint64_t()> read_;
  std::array<std::int64_t, 2> held_{}, peak_{};
  std::int64_t last_ = 0, most_ = 0;  ///< most_ is the watcher's while it runs
  bool last_arm_ = false;
  std::jthread watcher_;
};

/// Share of each phase in the sum of all phases over all ranks.
std::map<std::string, double> phase_shares(const std::vector<RankReport>& ranks) {
  std::map<std::string, double> shares;
  double sum = 0.0;
  for (const RankReport& rank : ranks) {
    for (const PhaseSample& phase : rank.phases) {
      if (!(phase.milliseconds > 0.0)) continue;
      shares[phase.name] += phase.milliseconds;
      sum += phase.milliseconds;
    }
  }
  for (auto& [name, share] : shares) share /= sum;
  return shares;
}

}  // namespace

std::unique_ptr<CostMeter> shared_memory_meter(std::function<std::uint64_t()> read) {
  return std::make_unique<SharedMemoryMeter>(std::move(read));
}

std::unique_ptr<CostMeter> cost_meter(const LaneConfig& lane, const LaneGpus& gpus) {
  if (lane.metric != "peak_memory") return nullptr;
  if (lane.gpus == 0) return std::make_unique<ResidentMeter>();
  const auto sampler = std::make_shared<GpuSampler>(gpus.uuids);
  if (!sampler->memory_used()) {
    throw Unavailable("lane " + lane.name + ": the driver does not tell the memory in use on " +
                      gpus.name + "; choose another lane");
  }
  return shared_memory_meter([sampler] { return sampler->memory_used().value_or(0); });
}

nlohmann::json metric_fields(const std::string& metric, std::int64_t images,
                             const std::vector<BlockRecord>& blocks, bool of_b) {
  nlohmann::json out = nlohmann::json::object();
  const double seconds = median_seconds(blocks, of_b);
  if (seconds <= 0.0) return out;
  if (metric == "peak_memory") {
    out["metric_bytes"] = seconds * 1e9;
    return out;
  }
  out["metric_seconds"] = seconds;
  if (metric == "throughput") out["images_per_second"] = static_cast<double>(images) / seconds;
  return out;
}

std::string metric_text(const nlohmann::json& fields) {
  char text[64] = "not measured";
  if (fields.contains("metric_bytes")) {
    std::snprintf(text, sizeof text, "%.1f MB", fields["metric_bytes"].get<double>() / 1e6);
  } else if (fields.contains("images_per_second")) {
    std::snprintf(text, sizeof text, "%.2f images/s", fields["images_per_second"].get<double>());
  } else if (fields.contains("metric_seconds")) {
    return seconds_text(fields["metric_seconds"]) + " per request";
  }
  return text;
}

std::string phase_shift(const std::vector<RankReport>& before,
                        const std::vector<RankReport>& after) {
  const std::map<std::string, double> was = phase_shares(before), is = phase_shares(after);
  if (was.empty() || is.empty()) return {};
  struct Move {
    std::string name;
    double from = 0.0, to = 0.0;
  };
  std::map<std::string, Move> moves;
  for (const auto& [name, share] : was) moves[name] = {name, share, 0.0};
  for (const auto& [name, share] : is) {
    moves[name].name = name;
    moves[name].to = share;
  }
  std::vector<Move> order;
  for (const auto& [name, move] : moves) order.push_back(move);
  std::stable_sort(order.begin(), order.end(), [](const Move& a, const Move& b) {
    return std::abs(a.to - a.from) > std::abs(b.to - b.from);
  });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, order.size()); ++i) {
    char text[128];
    std::snprintf(text, sizeof text, "%s%.40s %.1f %% -> %.1f %%", i == 0 ? "" : ", ",
                  order[i].name.c_str(), 100.0 * order[i].from, 100.0 * order[i].to);
    out += text;
  }
  return out;
}

}  // namespace ditar
