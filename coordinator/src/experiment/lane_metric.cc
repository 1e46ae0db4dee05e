#include "experiment/lane_metric.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/attempts.h"
#include "experiment/records.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

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

std::int64_t resident_peak(const WorkerSession& session, const RunResult&) {
  std::int64_t bytes = 0;
  for (const pid_t pid : session.pids()) {
    if (!is_launcher(pid)) bytes += high_water_bytes(pid);
  }
  return bytes;
}

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

CostMeter cost_meter(const LaneConfig& lane) {
  if (lane.metric != "peak_memory") return {};
  if (lane.gpus > 0) {
    throw Unavailable("lane " + lane.name +
                      " measures the memory of a GPU and no NVIDIA driver was found; choose "
                      "another lane");
  }
  return resident_peak;
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
