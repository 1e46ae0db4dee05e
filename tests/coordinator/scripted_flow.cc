#include "scripted_flow.h"

#include "ditar/config/safetensors.h"
#include "ditar/config/sha256.h"

#include <cmath>

namespace ditar {
namespace {

class ScriptedWorker final : public WorkerSession {
 public:
  ScriptedWorker(ScriptedWorld& world, double gain, bool candidate, bool other_weights)
      : world_(world),
        factor_(other_weights && !(candidate && world.keeps_old_weights) ? 0.25F : 0.5F),
        log_time_(
            std::normal_distribution<double>(-gain, world.process_noise + 1e-12)(world.random)),
        candidate_(candidate) {}

  LoadResult load(const LoadRequest&) override { return {}; }
  RunResult run(const RunRequest& request) override {
    if (candidate_) world_.seconds += world_.request_seconds;
    RunResult result;
    result.latents = request.latents;
    saw_single_ = saw_single_ || request.schedule.timesteps.size() == 1;
    const float lie = !candidate_                              ? 0.0F
                      : world_.lies                            ? 1.0F
                      : world_.lies_when_timed && !saw_single_ ? 1e-4F
                                                               : 0.0F;
    for (float& value : result.latents) value = factor_ * value + lie;
    const double noise = std::normal_distribution<double>(0.0, world_.noise)(world_.random);
    result.elapsed_ns = std::llround(1e7 * std::exp(log_time_ + noise));
    RankReport rank;
    rank.rank = 0;
    rank.resident_bytes = 1 << 20;
    result.ranks.push_back(rank);
    return result;
  }
  void stop() override {}
  const std::vector<RankHello>& ranks() const override { return hellos_; }
  std::vector<pid_t> pids() const override { return {}; }
  WorkerTraces traces() const override { return candidate_ ? world_.traces : WorkerTraces{}; }

 private:
  ScriptedWorld& world_;
  float factor_;
  double log_time_;
  bool candidate_, saw_single_ = false;
  std::vector<RankHello> hellos_;
};

class ScriptedLauncher final : public WorkerLauncher {
 public:
  explicit ScriptedLauncher(ScriptedWorld& world) : world_(world) {}
  LoadedWorker start(const Arm& arm, const StartOptions& options) override {
    ++world_.starts;
    const double gain = std::stod(ScratchRepository::read(arm.worker));
    LoadResult load;
    load.model = world_.model;
    return {std::make_unique<ScriptedWorker>(world_, gain, arm.name == "candidate",
                                             !options.model.empty()),
            load};
  }

 private:
  ScriptedWorld& world_;
};

class PassingJudge final : public QualityJudge {
 public:
  QualityFinding judge(const QualityEvidence& evidence) override {
    return {true, "", "", evidence.claimed_class, "{}"};
  }
  std::string scores_json(const std::vector<std::vector<float>>&,
                          const std::vector<std::int32_t>&) override {
    return "{}";
  }
  std::string self_test(const SuiteOutputs&, const std::vector<std::vector<float>>&,
                        const std::vector<std::int32_t>&, std::string&) override {
    return {};
  }
};

LaneConfig scripted_lane() {
  LaneConfig lane;
  lane.name = "scripted";
  lane.channels = 1;
  lane.height = lane.width = 2;
  lane.classes = 10;
  lane.steps = 2;
  lane.oracle_error_ceiling = 1e-4;
  lane.allowed_classes = {"exact", "numerical"};
  lane.suite = {2, 2, 2, 2, 0};
  lane.decision.quads_per_block = 4;
  return lane;
}

}  // namespace

ScriptedFlow::ScriptedFlow() {
  settings.file = "s.json";
  settings.sha256 = std::string(64, '1');
  settings.engine_knobs = "config/engine.json";
  settings.paths = PathRules({"CMakeLists.txt"}, {"kernels/", "config/engine.json"});
  settings.lanes["scripted"] = scripted_lane();
  settings.budgets.disk_bytes = 1 << 30;
  settings.budgets.experiment_seconds = 900;
  const std::vector<float> weights = {1.0F, 2.0F, 3.0F, 4.0F};
  const SafetensorsItem item{
      "blocks.0.mlp.fc1.weight", StoredType::kF32, {2, 2}, std::as_bytes(std::span(weights))};
  write_safetensors(scratch.beside("model.safetensors"), std::span(&item, 1));
  scratch.put("CMakeLists.txt", "x\n");
  scratch.put("kernels/gain", "0\n");
  scratch.put("config/engine.json", "{}\n");
  scratch.put(".gitignore", "/.autoresearch/\n");
  scratch.commit("base");
  scratch.shell("git switch -q -c autoresearch/dec5");
  const Project here = project();
  Ledger ledger = Ledger::open(here.layout.root, LedgerMode::kWrite);
  bool created = false;
  init_session(here.git, ledger, settings, "scripted", created);
}

Project ScriptedFlow::project() const {
  return Project{GitRepository::open(scratch.root()), settings, StateLayout(scratch.root())};
}

FlowParts ScriptedFlow::parts() {
  FlowParts parts;
  parts.launcher = [this](const LaneConfig&) { return std::make_unique<ScriptedLauncher>(world); };
  parts.quality = [](const LaneConfig&) { return std::make_unique<PassingJudge>(); };
  parts.build = [this](const LaneConfig&, const std::string& tree) {
    const Project here = project();
    BuildResult built;
    built.source = export_tree(here.git, tree, here.layout.root);
    world.seconds += world.build_seconds;
    if (ScratchRepository::read(built.source / "kernels/gain").starts_with("broken")) {
      built.phase = "compile";
      built.first_error = "kernels/gain:1: error: broken";
      return built;
    }
    built.binary = scratch.beside("worker-" + tree);
    std::ofstream(built.binary) << ScratchRepository::read(built.source / "kernels/gain") << tree;
    built.binary_sha256 = sha256_file(built.binary);
    built.recipe = "scripted";
    built.ok = true;
    ++world.rebuilt;
    return built;
  };
  parts.secret = [this] { return draws_ += 0x9e3779b97f4a7c15ULL; };
  parts.tools = [this](const LaneConfig&) { return world.tools; };
  parts.model = [this](const LaneConfig&) { return scratch.beside("model.safetensors"); };
  parts.rate = [this](const LaneConfig&, const Arm&) { return world.rate; };
  parts.clock = [this] { return world.seconds; };
  return parts;
}

BaselineOutcome ScriptedFlow::baseline() {
  SilentProgress progress;
  return run_baseline_flow(project(), parts(), progress);
}

void ScriptedFlow::commit(double gain, const std::string& message) {
  scratch.put("kernels/gain", std::to_string(gain) + "\n");
  scratch.commit(message);
}

ExperimentOutcome ScriptedFlow::experiment(double gain, const std::string& description) {
  commit(gain, description);
  return run(description);
}

void ScriptedFlow::commit_broken(const std::string& variant) {
  scratch.put("kernels/gain", "broken " + variant + "\n");
  scratch.commit(variant);
}

ExperimentOutcome ScriptedFlow::run(const std::string& description) {
  SilentProgress progress;
  ExperimentRequest request;
  request.classification = "exact";
  request.description = description;
  request.command = "dit-ar experiment";
  return run_experiment_flow(project(), parts(), request, progress);
}

std::vector<Record> ScriptedFlow::records() const {
  return Ledger::open(project().layout.root, LedgerMode::kRead).records();
}

}  // namespace ditar
