#include "experiment/lane_metric.h"

#include "ditar/config/error.h"
#include "experiment/records.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

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

}  // namespace ditar
