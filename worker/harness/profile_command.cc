#include "profile_command.h"

#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/config/philox.h"
#include "ditar/config/safetensors.h"
#include "profile_report.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kPixelsPerLatent = 8;  // of the autoencoder

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Writes the latents as a file of their own, which is gone afterwards.
void write_latents(const std::vector<float>& values, const RequestShape& shape) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("dit-profile-" + std::to_string(::getpid()) + ".safetensors");
  const SafetensorsItem item{"latents",
                             StoredType::kF32,
                             {shape.images, shape.channels, shape.height, shape.width},
                             std::as_bytes(std::span(values))};
  write_safetensors(path, std::span<const SafetensorsItem>(&item, 1));
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

class Measurement {
 public:
  explicit Measurement(const ProfileOptions& options) : options_(options) {
    EngineOptions engine;
    engine.model_path = options.load.model_path;
    engine.knobs_path = options.load.knobs_path;
    engine.precision = parse_precision(options.load.precision);
    engine.parity = parse_parity(options.load.parity);
    engine.device = options.device;
    engine.threads = options.threads;
    engine_ = make_engine(engine, nullptr);
    facts_ = engine_->facts();
    shape_ = {options.images, facts_.channels, facts_.height, facts_.width};
    schedule_.sampler = parse_sampler(options.sampler);
    schedule_.guidance = options.guidance;
    for (int k = options.steps - 1; k >= 0; --k) {
      schedule_.timesteps.push_back(k * 1000 / options.steps);
    }
    const auto each = static_cast<std::size_t>(shape_.count() / shape_.images);
    latents_.resize(static_cast<std::size_t>(shape_.count()));
    for (std::int64_t image = 0; image < options.images; ++image) {
      labels_.push_back(static_cast<std::int32_t>(image % facts_.classes));
      philox_normal(0, static_cast<std::uint64_t>(image), 0,
                    std::span(latents_).subspan(static_cast<std::size_t>(image) * each, each));
    }
  }

  MeasuredProfile run() {
    MeasuredProfile profile;
    profile.model = facts_;
    profile.precision = options_.load.precision;
    profile.images = options_.images;
    profile.rows = options_.images * (options_.guidance == 1.0 ? 1 : 2);
    profile.steps = options_.steps;
    profile.threads = options_.threads;
    std::vector<PhaseRecord> load = engine_->take_phases();
    request();  // what is planned and recorded once per shape
    engine_->take_phases();
    request();
    profile.phases = engine_->take_phases();
    profile.phases.insert(profile.phases.begin(), load.begin(), load.end());
    const auto begin = Clock::now();
    write_latents(result_, shape_);
    profile.phases.push_back(
        {"write", milliseconds_since(begin), 1, 0.0, 4.0 * static_cast<double>(shape_.count())});
    add_denoise(profile.phases);
    profile.step = engine_->profile_step(0, options_.repeats);
    return profile;
  }

 private:
  void request() {
    engine_->prepare(shape_, schedule_, labels_);
    engine_->set_latents(latents_);
    for (std::int64_t k = 0; k < std::ssize(schedule_.timesteps); ++k) engine_->step(k);
    result_.resize(latents_.size());
    engine_->read_latents(result_);
  }

  /// Where the engine gives the parts of "denoise" alone, their sum.
  static void add_denoise(std::vector<PhaseRecord>& phases) {
    PhaseRecord sum{"denoise", 0.0, 0, 0.0, 0.0};
    for (const PhaseRecord& phase : phases) {
      if (phase.name == sum.name) return;
      if (phase.name.rfind("denoise/", 0) != 0) continue;
      sum.milliseconds += phase.milliseconds;
      sum.flops += phase.flops;
      sum.bytes += phase.bytes;
      sum.calls = std::max(sum.calls, phase.calls);
    }
    const auto first = std::find_if(phases.begin(), phases.end(), [](const PhaseRecord& phase) {
      return phase.name.rfind("denoise/", 0) == 0;
    });
    phases.insert(first, sum);
  }

  const ProfileOptions& options_;
  std::unique_ptr<Engine> engine_;
  ModelFacts facts_;
  RequestShape shape_;
  RequestSchedule schedule_;
  std::vector<std::int32_t> labels_;
  std::vector<float> latents_, result_;
};

Arithmetic arithmetic_of(const std::string& precision) {
  switch (parse_precision(precision)) {
    case Precision::kF32:
      return Arithmetic::kF32;
    case Precision::kTf32:
      return Arithmetic::kTf32;
    case Precision::kF16:
    case Precision::kBF16:
      return Arithmetic::kF16;
    case Precision::kF64:
      break;
  }
  throw InvalidArgument("no prediction is made for fp64; give fp32, tf32, fp16 or bf16");
}

DeviceModel device_named(const std::string& name) {
  if (const DeviceModel* model = find_device_model(name)) return *model;
  std::string known;
  for (const DeviceModel& model : device_models()) {
    known += (known.empty() ? "" : ", ") + model.name;
  }
  throw InvalidArgument("no figures are known for GPU \"" + name +
                        "\"; choose one with --model-of: " + known);
}

ModelledProfile predict(const ProfileOptions& options, const MeasuredProfile* measured) {
  DeviceModel device = device_named(options.model_of);
  if (options.clock_mhz > 0.0) device = device.at_clock(options.clock_mhz);
  ModelShape model;
  LaneShape lane;
  lane.guidance = 1.0;
  lane.arithmetic = arithmetic_of(options.load.precision);
  if (measured != nullptr) {
    const ModelFacts& facts = measured->model;
    model = {facts.hidden, facts.depth,    facts.heads,
             facts.patch,  facts.channels, facts.channels * (facts.learned_variance ? 2 : 1),
             facts.classes};
    lane.images = measured->rows;
    lane.height = facts.height;
    lane.width = facts.width;
  } else {
    require(options.image >= kPixelsPerLatent && options.image % kPixelsPerLatent == 0,
            "--image must be a multiple of 8 pixels");
    model = dit_model(options.architecture);
    lane.images = options.batch;
    lane.height = lane.width = options.image / kPixelsPerLatent;
  }
  ModelledProfile profile;
  profile.device = device.name;
  profile.source = device.source;
  profile.precision = options.load.precision;
  profile.clock_mhz = device.boost_mhz;
  profile.rows = lane.images;
  profile.tokens = tokens_of(model, lane);
  profile.groups = predict_groups(model, lane, device);
  return profile;
}

void check_options(const ProfileOptions& options) {
  require(!options.load.model_path.empty() || !options.model_of.empty(),
          "profile needs --model to measure, --model-of to predict, or both");
  require(options.images >= 1 && options.threads >= 1 && options.repeats >= 1 && options.batch >= 1,
          "profile needs at least one image, row, thread and repeat");
  require(options.steps >= 1 && options.steps <= 1000,
          "profile takes 1 to 1000 steps, not " + std::to_string(options.steps));
  require(options.clock_mhz >= 0.0, "--clock-mhz must not be negative");
}

}  // namespace

int profile_command(const ProfileOptions& asked) {
  init_logging("dit-worker", 0);
  check_options(asked);
  ProfileOptions options = asked;
  if (options.load.precision.empty()) {
    const bool on_cpu = !options.load.model_path.empty() && options.device == "cpu";
    options.load.precision = on_cpu ? "fp32" : "fp16";
  }
  ProfileReport report;
  // The prediction first: what it refuses should not wait for a measurement.
  if (!options.model_of.empty()) device_named(options.model_of);
  if (!options.load.model_path.empty()) report.measured = Measurement(options).run();
  if (!options.model_of.empty()) {
    report.modelled = predict(options, report.measured ? &*report.measured : nullptr);
  }
  std::cout << (options.json ? profile_json(report) : profile_text(report));
  return to_int(ExitCode::kOk);
}

}  // namespace ditar
