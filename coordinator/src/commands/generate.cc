#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/config/philox.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/image_grid.h"
#include "ditar/coordinator/lane_hardware.h"
#include "ditar/coordinator/task.h"
#include "ditar/coordinator/version.h"
#include "ditar/coordinator/worker_launcher.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>

namespace ditar {
namespace {

/// A folder of its own below the system's temporary folder, gone at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dit-ar-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw IoError("cannot make a folder below " +
                    std::filesystem::temp_directory_path().string() + "; set TMPDIR");
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

LaneConfig chosen_lane(const Project& project, const GenerateOptions& options) {
  const HostFacts machine = read_host_facts();
  LaneConfig lane = options.lane.empty()
                        ? project.settings.default_lane(machine.gpu_name, machine.gpu_count)
                        : project.settings.lane(options.lane);
  // Where the hardware's lane makes latents, the lane of a machine without a GPU makes pixels.
  if (options.lane.empty() && lane.channels != 1 && lane.channels != 3) {
    lane = project.settings.default_lane("", 0);
  }
  if (options.steps > 0) lane.steps = options.steps;
  if (!options.sampler.empty()) lane.sampler = options.sampler;
  if (options.guidance >= 0.0) lane.guidance = options.guidance;
  if (!options.precision.empty()) lane.precision = options.precision;
  lane.threads = options.threads > 0 ? options.threads : static_cast<int>(allowed_cpus().size());
  lane.ranks = 1;
  return lane;
}

RunRequest whole_request(const LaneConfig& lane, const std::vector<std::int32_t>& labels,
                         std::uint64_t seed) {
  Task task = task_of(lane);
  task.images = static_cast<std::int64_t>(labels.size());
  task.schedule.noise_seed = seed;
  return make_request(task, labels, RequestSeed{seed, 0}, 1);
}

std::string number_text(double value) {
  std::string text = nlohmann::json(value).dump();
  return text;
}

}  // namespace

int run_generate(const GlobalOptions& global, const GenerateOptions& options, Console& console) {
  const Project project = open_project(global);
  const LaneConfig lane = chosen_lane(project, options);
  const std::vector<std::int32_t> labels = parse_labels(options.labels, lane.classes);
  if (lane.channels != 1 && lane.channels != 3) {
    throw InvalidArgument("lane " + lane.name + " makes latents with " +
                          std::to_string(lane.channels) +
                          " channels, not pixels; choose a pixel lane with --lane");
  }
  const std::filesystem::path model = options.model.empty()
                                          ? project.git.root() / lane.model_path
                                          : std::filesystem::absolute(options.model);
  const ScratchFolder scratch;
  const std::filesystem::path worker = options.worker.empty()
                                           ? program_folder() / "dit-worker"
                                           : std::filesystem::absolute(options.worker);
  if (!std::filesystem::exists(worker)) {
    throw Unavailable("no worker at " + worker.string() + "; build it or name one with --worker");
  }
  const auto launcher = make_lane_launcher(
      lane, project.settings.launch, model, allowed_cpus(), find_isolation(),
      find_lane_gpus(lane, lane.gpus > 0 ? read_machine() : MachineFacts{}).uuids);
  console.stage("generate: " + std::to_string(labels.size()) + " images");
  LoadedWorker loaded = launcher->start(
      Arm{"generate", worker, "", project.git.root() / project.settings.engine_knobs},
      StartOptions{lane.precision, lane.threads, scratch.path()});
  const RunResult result = loaded.session->run(whole_request(lane, labels, options.seed));
  loaded.session->stop();
  const PixelBatch pixels = to_pixels(result.latents, static_cast<std::int64_t>(labels.size()),
                                      lane.channels, lane.height, lane.width);
  GridOptions grid;
  grid.metadata = {{"Software", "dit-ar " + std::string(version())},
                   {"model_sha256", sha256_file(model)},
                   {"labels", options.labels},
                   {"seed", std::to_string(options.seed)},
                   {"steps", std::to_string(lane.steps)},
                   {"sampler", lane.sampler},
                   {"guidance", number_text(lane.guidance)},
                   {"guided_channels", std::to_string(lane.guided_channels)},
                   {"parity", loaded.load.model.parity},
                   {"precision", lane.precision},
                   {"plan", loaded.load.model.plan}};
  write_png_grid(options.out, pixels, labels, grid);
  if (!options.npz.empty()) write_npz(options.npz, pixels, labels);
  console.line("wrote " + options.out + (options.npz.empty() ? "" : " and " + options.npz) + " (" +
               std::to_string(labels.size()) + " images, " +
               seconds_text(static_cast<double>(result.elapsed_ns) * 1e-9) + ")");
  nlohmann::json parameters;
  for (const auto& [key, value] : grid.metadata) parameters[key] = value;
  console.document({{"out", options.out},
                    {"npz", options.npz},
                    {"images", labels.size()},
                    {"seconds", static_cast<double>(result.elapsed_ns) * 1e-9},
                    {"parameters", parameters}});
  return 0;
}

}  // namespace ditar
