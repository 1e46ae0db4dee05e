// The settings of a repository: config/autoresearch.json, read strictly. Values once read; share
// freely. No JSON type shows here. The file's schema is config/autoresearch.schema.json.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/config/path_rules.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// One rule of the lane's choice: the first whose `gpu` and `min_gpus` fit the machine.
struct LaneRule {
  std::string gpu;  ///< whole product name; "*": any CUDA GPU; "none": no GPU
  int min_gpus = 0;
  std::string lane;
};

struct BudgetSettings {
  std::int64_t disk_bytes = 0;  ///< of .autoresearch/trees and builds together
  int experiment_seconds = 0;   ///< wall time of one experiment, build included
  int build_seconds = 0;
  int check_seconds = 0;  ///< of `check`: each wait for its one request, the build not included
  std::int64_t min_free_bytes = 0;  ///< an experiment does not start below this
};

struct LaunchSettings {
  std::string mpirun;  ///< absolute path; empty: the first on PATH
  int hello_seconds = 0, load_seconds = 0, progress_seconds = 0, run_seconds = 0, stop_seconds = 0;
  std::int64_t log_cap_bytes = 0;
  std::vector<std::string> environment_allow;
};

struct BuildSettings {
  std::string target;  ///< CMake target, "dit-worker"
  std::string binary;  ///< its path below the build folder, "bin/dit-worker"
  std::string build_type;
  std::vector<std::string> cmake_options;  ///< "-DNAME=value", for every lane
  std::vector<std::string> environment_allow;
};

struct Settings {
  std::filesystem::path file;  ///< where it was read
  std::string sha256;          ///< of the file's bytes
  std::string engine_knobs;    ///< path of the mutable knobs, relative to the root
  std::string handbook;        ///< folder, relative to the root
  PathRules paths;
  std::map<std::string, LaneConfig> lanes;
  std::vector<LaneRule> default_lanes;
  BudgetSettings budgets;
  LaunchSettings launch;
  BuildSettings build;

  /// @throws InvalidArgument naming the nearest lane if there is none of that name.
  const LaneConfig& lane(std::string_view name) const;
  /// The lane for a machine with `gpu_count` GPUs of that product name ("" and 0: none).
  /// @throws Unavailable if no rule fits.
  const LaneConfig& default_lane(std::string_view gpu_name, int gpu_count) const;
  /// False if the lane was made for other hardware than the machine has (R12: "off-target").
  static bool on_target(const LaneConfig& lane, std::string_view gpu_name) noexcept;
};

/// Reads and checks the file. @throws IoError if it cannot be read; ConfigError "file:line:column:
/// ..." for bad JSON, an unknown, duplicate or missing key (with the nearest valid one), a wrong
/// type or value, overlap of fixed and mutable paths.
Settings read_settings(const std::filesystem::path& file);
/// The same for text; `name` stands in messages.
Settings parse_settings(std::string_view text, const std::string& name);

/// Checks the patterns against the tracked paths. @throws ConfigError "file:line:column: ..."
/// naming the first pattern that matches none of them. Reads the settings' file again for the line.
void check_paths_match(const Settings& settings, const std::vector<std::string>& tracked_paths);

/// Every key the reader knows, as "lanes.*.steps" ("*": any name, "[]": any item), sorted.
std::vector<std::string> known_settings_keys();

}  // namespace ditar
