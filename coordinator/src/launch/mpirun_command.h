// The launch line of Open MPI 4.1, 5 and later from one plan. Private to coordinator/src/launch.
#pragma once

#include "ditar/coordinator/launch_plan.h"

#include <map>
#include <string>
#include <vector>

namespace ditar {

struct MpirunVersion {
  std::string path;  ///< absolute
  int major = 0;
  int minor = 0;
};

/// Finds `plan.mpirun`, else the first mpirun on PATH, and asks its version (2 s at most).
/// @throws Unavailable naming the cause and the package that mends it.
MpirunVersion find_mpirun(const LaunchPlan& plan);

/// Parses the text of `mpirun --version`; major is 0 if it is not Open MPI's.
MpirunVersion parse_mpirun_version(const std::string& path, const std::string& text);

/// argv, wrapper and launcher included. `exported` are the names passed to ranks on other hosts.
std::vector<std::string> mpirun_command(const LaunchPlan& plan, const MpirunVersion& version,
                                        const std::vector<std::string>& exported,
                                        const std::string& endpoint, const std::string& attempt);

/// True if all ranks run on this host.
bool is_one_host(const LaunchPlan& plan);

}  // namespace ditar
