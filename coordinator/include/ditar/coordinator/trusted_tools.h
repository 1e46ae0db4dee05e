// The programs of the machine that a verdict rests on: git, the build's tools, mpirun. A baseline
// records where each is and its hash; an experiment with another one is refused, so that a program
// put in front of them on PATH decides nothing.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/config/settings.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ditar {

struct TrustedTool {
  std::string name;    ///< "git", "cmake", "ninja", "c++", "nvcc", "mpirun"
  std::string path;    ///< absolute, symbolic links resolved
  std::string sha256;  ///< of that file
};

/// As build and launch of this lane would find them now. Reads each file whole.
/// @throws Unavailable naming one that is missing.
std::vector<TrustedTool> trusted_tools(const Settings& settings, const LaneConfig& lane);

/// One sentence about the first tool of `now` that is not the one in `recorded`; empty: all are, or
/// `recorded` is null (a baseline of before).
std::string changed_tool(const nlohmann::json& recorded, const std::vector<TrustedTool>& now);

nlohmann::json to_json(const std::vector<TrustedTool>& tools);

}  // namespace ditar
