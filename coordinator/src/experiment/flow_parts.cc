#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/config/synthetic_model.h"
#include "ditar/coordinator/experiment_flow.h"
#include "ditar/coordinator/interrupt.h"
#include "ditar/coordinator/subprocess.h"
#include "experiment/lane_metric.h"

#include <nlohmann/json.hpp>
#include <sys/random.h>

#include <memory>
#include <optional>

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

/// What the original's worker says of itself and of the machine; a second or two, unfenced, for it
/// is the commit that the session trusts.
TimeFloor measure_rate(const LaneConfig& lane, const Arm& original,
                       const std::filesystem::path& model, const LaunchSettings& launch) {
  ProcessSpec spec;
  spec.program = original.worker;
  const auto images = std::to_string(lane.images), threads = std::to_string(lane.threads);
  nlohmann::json guidance = lane.guidance;
  spec.arguments = {"profile",
                    "--model",
                    model.string(),
                    "--knobs",
                    original.knobs.string(),
                    "--precision",
                    lane.precision,
                    "--device",
                    lane.gpus > 0 ? "cuda" : "cpu",
                    "--images",
                    images,
                    "--steps",
                    "2",
                    "--guidance",
                    guidance.dump(),
                    "--threads",
                    threads,
                    "--repeats",
                    "3",
                    "--json"};
  spec.environment = allowed_environment(launch.environment_allow);
  spec.environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  spec.timeout = std::chrono::minutes(5);
  spec.cancel = &interrupt_flag();
  const ProcessResult result = run_process(spec);
  throw_if_interrupted();
  if (!result.ok()) {
    throw Error("the original's worker made no profile of the machine: " + result.errors,
                ExitCode::kTemporary);
  }
  return measured_rate(nlohmann::json::parse(result.output));
}

}  // namespace

std::filesystem::path lane_model(const Project& project, const LaneConfig& lane) {
  if (lane.model_preset.empty()) {
    std::filesystem::path model = project.git.root() / lane.model_path;
    require_hash(model, lane.model_sha256);
    return model;
  }
  const std::filesystem::path folder = project.layout.root / "models";
  const std::filesystem::path model = folder / (lane.model_preset + ".safetensors");
  if (std::filesystem::exists(model) && sha256_file(model) == lane.model_sha256) return model;
  std::filesystem::create_directories(folder);
  const std::string made = write_synthetic_model(synthetic_preset(lane.model_preset), model);
  if (made != lane.model_sha256) {
    throw DataError(model.string() + " was made with SHA-256 " + made + ", lane " + lane.name +
                    " asks for " + lane.model_sha256 + "; the settings are of another version");
  }
  return model;
}

FlowParts real_parts(const Project& project) {
  FlowParts parts;
  const auto gpus = [machine =
                         std::make_shared<std::optional<MachineFacts>>()](const LaneConfig& lane) {
    if (lane.gpus == 0) return LaneGpus{};
    if (!*machine) *machine = read_machine();
    return find_lane_gpus(lane, **machine);
  };
  parts.gpus = gpus;
  const Isolation isolate = find_isolation();
  parts.isolation = isolate;
  parts.launcher = [&project, isolate, gpus](const LaneConfig& lane) {
    const std::vector<std::string> devices = gpus(lane).uuids;
    return make_lane_launcher(lane, project.settings.launch, lane_model(project, lane),
                              allowed_cpus(), isolate, devices);
  };
  parts.quality = [&project](const LaneConfig& lane) {
    std::filesystem::path judge;
    if (!lane.judge_path.empty()) {
      judge = project.git.root() / lane.judge_path;
      require_hash(judge, lane.judge_sha256);
    }
    return make_quality_judge(lane, judge);
  };
  parts.build = [&project, isolate, gpus](const LaneConfig& lane, const std::string& tree) {
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
    request.cuda_architectures = gpus(lane).architectures;
    request.timeout = std::chrono::seconds(project.settings.budgets.build_seconds);
    request.cancel = &interrupt_flag();
    BuildResult built = build_candidate(project.git, request);
    throw_if_interrupted();
    return built;
  };
  parts.secret = secret_bits;
  parts.guard = [gpus](const LaneConfig& lane, const HostLimits& limits) {
    std::vector<std::unique_ptr<MachineGuard>> guards;
    guards.push_back(make_host_guard(share_cpus(lane, allowed_cpus()).workers, limits));
    if (lane.gpus > 0) {
      const auto sampler = std::make_shared<GpuSampler>(gpus(lane).uuids);
      guards.push_back(make_gpu_guard([sampler] { return sampler->sample(); }));
    }
    return join_guards(std::move(guards));
  };
  parts.tools = [&project](const LaneConfig& lane) {
    return trusted_tools(project.settings, lane);
  };
  parts.model = [&project](const LaneConfig& lane) { return lane_model(project, lane); };
  parts.rate = [&project](const LaneConfig& lane, const Arm& original) {
    return measure_rate(lane, original, lane_model(project, lane), project.settings.launch);
  };
  parts.cost = [gpus](const LaneConfig& lane) { return cost_meter(lane, gpus(lane)); };
  return parts;
}

}  // namespace ditar
