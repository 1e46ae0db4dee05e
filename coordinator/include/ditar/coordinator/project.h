// What every command starts from: the repository around the current folder, its settings and its
// state folder. A value; one thread at a time.
#pragma once

#include "ditar/config/settings.h"
#include "ditar/coordinator/git_repository.h"
#include "ditar/coordinator/session.h"

#include <filesystem>
#include <optional>
#include <string>

namespace ditar {

struct Project {
  GitRepository git;
  Settings settings;
  StateLayout layout;

  /// Finds the repository from `inside` and reads `config`; an empty `config` means
  /// config/autoresearch.json below the root. @throws Error, ConfigError, IoError.
  static Project open(const std::filesystem::path& inside, const std::string& config);
};

/// What this machine is, as far as a verdict leans on it.
struct HostFacts {
  std::string host, kernel, cpu_model;
  int cpus = 0;  ///< that this process may use
  double load_1min = 0.0;
  std::int64_t memory_bytes = 0;
  std::string gpu_name;  ///< empty: none
  int gpu_count = 0;
};
HostFacts read_host_facts();
/// The CPUs that this process was allowed when it started, ascending.
std::vector<int> allowed_cpus();
/// Keeps this process on `cpus`. Does nothing for an empty list. @throws IoError.
void pin_to_cpus(const std::vector<int>& cpus);

/// Session of the current branch. @throws Error (exit 67) naming the mend if there is none.
SessionState require_session(const Project& project, const std::vector<Record>& records);

}  // namespace ditar
