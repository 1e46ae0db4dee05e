// Single forwards and whole trajectories against independent FP64 implementations in PyTorch
// (official layout) and diffusers' own classes (diffusers layout).
#include "dit_engine.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/kernels/cpu_threads.h"
#include "golden_data.h"
#include "test_paths.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

namespace fs = std::filesystem;

// Relative L2 of one forward. FP64 differs from PyTorch by summation order alone.
template <typename T>
constexpr double kForward = sizeof(T) == 8 ? 1e-11 : 2e-5;
// A trajectory feeds a step's error to the next ones and ends at a division by sqrt(alpha-bar).
template <typename T>
constexpr double kTrajectory = sizeof(T) == 8 ? 1e-11 : 5e-5;

fs::path model_path(const std::string& name) {
  if (name == "mnist") return fs::path(DITAR_SOURCE_DIR) / "config/models/mnist-dit.safetensors";
  const fs::path folder = golden::data_path(name);
  return fs::is_directory(folder) ? folder : golden::data_path(name + ".safetensors");
}

class ModelGoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string& name = GetParam();
    file_ = std::make_unique<SafetensorsFile>(golden::data_path(name + ".golden.safetensors"));
    if (!fs::exists(model_path(name))) {
      GTEST_SKIP() << model_path(name) << " is not there; scripts/train_mnist_dit.py makes it";
    }
    const auto digest = file_->metadata().find("model_sha256");
    if (digest != file_->metadata().end()) {
      ASSERT_EQ(digest->second, sha256_file(model_path(name)))
          << "the model changed; run scripts/golden/make_goldens.py --only mnist";
    }
  }

  template <typename T>
  void check_forward() {
    const Checkpoint checkpoint = Checkpoint::open(model_path(GetParam()));
    const Parity parity =
        checkpoint.layout() == "diffusers" ? Parity::kDiffusers : Parity::kOfficial;
    set_cpu_threads(1);
    const ModelWeights weights = load_weights(checkpoint, Knobs{}, dtype_of<T>, StreamView{});
    Denoiser denoiser(weights, parity, Knobs{}, StreamView{});
    PhaseClock clock;
    const auto x = read_f64(file_->at("forward.x"));
    const auto golden = read_f64(file_->at("forward.out"));
    const auto t = golden::read_i32(*file_, "forward.t");
    const auto y = golden::read_i32(*file_, "forward.y");
    const std::size_t in = x.size() / t.size();
    const std::size_t out = golden.size() / t.size();
    for (std::size_t n = 0; n < t.size(); ++n) {
      const std::vector<T> input(x.begin() + static_cast<std::ptrdiff_t>(n * in),
                                 x.begin() + static_cast<std::ptrdiff_t>((n + 1) * in));
      denoiser.prepare(1, {y[n]}, {t[n]});
      const ModelConfig& c = weights.config;
      const ConstTensorView result = denoiser.run(
          {input.data(), Shape{1, c.channels, c.height, c.width}, dtype_of<T>, Device{}}, 0, clock);
      EXPECT_LE(golden::relative_l2(std::span<const T>(result.as<T>(), out),
                                    std::span<const double>(golden).subspan(n * out, out)),
                kForward<T>)
          << "timestep " << t[n] << " label " << y[n];
    }
  }

  RequestSchedule schedule_of(const std::string& run) const {
    RequestSchedule schedule;
    schedule.sampler = run.starts_with("ddim")   ? SamplerKind::kDdim
                       : run.starts_with("ddpm") ? SamplerKind::kDdpm
                                                 : SamplerKind::kDpmSolverPlusPlus2M;
    schedule.timesteps = golden::read_i32(*file_, "run." + run + ".timesteps");
    const auto scalars = read_f64(file_->at("run." + run + ".scalars"));
    schedule.guidance = scalars[0];
    schedule.guided_channels = static_cast<int>(scalars[1]);
    return schedule;
  }

  template <typename T>
  void check_trajectories() {
    EngineOptions options;
    options.precision = sizeof(T) == 8 ? Precision::kF64 : Precision::kF32;
    options.threads = 1;
    DitEngine engine(Checkpoint::open(model_path(GetParam())), options, Knobs{}, nullptr);
    const ModelFacts facts = engine.facts();
    const auto labels = golden::read_i32(*file_, "run.labels");
    const auto start = read_f32(file_->at("run.start"));
    int compared = 0;
    for (const char* run : {"ddim", "ddim3", "ddpm", "dpmpp2m"}) {
      const std::string prefix = std::string("run.") + run;
      if (file_->find(prefix + ".final") == nullptr) continue;
      const RequestSchedule schedule = schedule_of(run);
      engine.prepare(
          {static_cast<std::int64_t>(labels.size()), facts.channels, facts.height, facts.width},
          schedule, labels);
      if (file_->find(prefix + ".noise") != nullptr) {
        engine.inject_noise(read_f32(file_->at(prefix + ".noise")));
      }
      engine.set_latents(start);
      for (std::size_t k = 0; k < schedule.timesteps.size(); ++k) {
        engine.step(static_cast<std::int64_t>(k));
      }
      const auto golden = read_f64(file_->at(prefix + ".final"));
      EXPECT_LE(
          golden::relative_l2(std::span<const T>(engine.state().as<T>(),
                                                 static_cast<std::size_t>(engine.state().count())),
                              std::span<const double>(golden)),
          kTrajectory<T>)
          << run;
      ++compared;
    }
    EXPECT_GE(compared, 2);
  }

  std::unique_ptr<SafetensorsFile> file_;
};

TEST_P(ModelGoldenTest, ForwardMatchesInFp64) { check_forward<double>(); }
TEST_P(ModelGoldenTest, ForwardMatchesInFp32) { check_forward<float>(); }
TEST_P(ModelGoldenTest, TrajectoriesMatchInFp64) { check_trajectories<double>(); }
TEST_P(ModelGoldenTest, TrajectoriesMatchInFp32) { check_trajectories<float>(); }

INSTANTIATE_TEST_SUITE_P(Cpu, ModelGoldenTest,
                         ::testing::Values("hd72", "p4", "p8rect", "diffusers",
                                           "diffusers-per-block", "mnist"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The two parity modes differ where they should: the golden of one must fail in the other.
TEST(ParityGoldenTest, ModesAreNotInterchangeable) {
  const SafetensorsFile file(golden::data_path("diffusers.golden.safetensors"));
  const Checkpoint checkpoint = Checkpoint::open(model_path("diffusers"));
  set_cpu_threads(1);
  const ModelWeights weights = load_weights(checkpoint, Knobs{}, DType::kF64, StreamView{});
  Denoiser denoiser(weights, Parity::kOfficial, Knobs{}, StreamView{});
  PhaseClock clock;
  const auto x = read_f64(file.at("forward.x"));
  const auto golden = read_f64(file.at("forward.out"));
  denoiser.prepare(1, golden::read_i32(file, "forward.y"), golden::read_i32(file, "forward.t"));
  const std::size_t out = golden.size() / 3;
  const ModelConfig& c = weights.config;
  const ConstTensorView result = denoiser.run(
      {x.data(), Shape{1, c.channels, c.height, c.width}, DType::kF64, Device{}}, 0, clock);
  const double error = golden::relative_l2(std::span<const double>(result.as<double>(), out),
                                           std::span<const double>(golden).first(out));
  EXPECT_GT(error, 1e-6);
}

}  // namespace
}  // namespace ditar
