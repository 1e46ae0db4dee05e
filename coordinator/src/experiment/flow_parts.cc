#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/interrupt.h"
#include "experiment/lane_metric.h"

#include <sys/random.h>

namespace ditar {
namespace {

void require_hash(const std::filesystem::path& file, const std::string& expected) {
  if (!std::filesystem::exists(file)) {
    throw DataError(file.string() + " is missing; restore it with git checkout -- <path>");
  }
  if (!expected.empty() && sha256_file(file) != expected) {
    throw DataError(file.string() +
                    " does not have the hash that the lane asks for; restore it with git checkout");
  }
}

std::uint64_t secret_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    throw IoError("the system gave no random bytes; try again");
  }
  return bits;
}

}  // namespace

FlowParts real_parts(const Project& project) {
  FlowParts parts;
  const Isolation isolate = find_isolation();
  parts.isolation = isolate;
  parts.launcher = [&project, isolate](const LaneConfig& lane) {
    const std::filesystem::path model = project.git.root() / lane.model_path;
    require_hash(model, lane.model_sha256);
    return make_lane_launcher(lane, project.settings.launch, model, allowed_cpus(), isolate);
  };
  parts.quality = [&project](const LaneConfig& lane) {
    std::filesystem::path judge;
    if (!lane.judge_path.empty()) {
      judge = project.git.root() / lane.judge_path;
      require_hash(judge, lane.judge_sha256);
    }
    return make_quality_judge(lane, judge);
  };
  parts.build = [&project, isolate](const std::string& tree) {
    const BuildSettings& build = project.settings.build;
    BuildRequest request;
    request.tree = tree;
    request.state_directory = project.layout.root;
    request.target = build.target;
    request.binary = build.binary;
    request.build_type = build.build_type;
    request.cmake_options = build.cmake_options;
    request.environment_allow = build.environment_allow;
    request.isolate = isolate;
    request.timeout = std::chrono::seconds(project.settings.budgets.build_seconds);
    request.cancel = &interrupt_flag();
    BuildResult built = build_candidate(project.git, request);
    throw_if_interrupted();
    return built;
  };
  parts.secret = secret_bits;
  parts.guard = [](const LaneConfig& lane, const HostLimits& limits) {
    return make_host_guard(share_cpus(lane, allowed_cpus()).workers, limits);
  };
  parts.cost = cost_meter;
  return parts;
}

}  // namespace ditar
