// The fixed face of the engine. The harness (fixed) sees the engine (mutable: worker/dit, kernels,
// parallel, topology/planner*, config/engine.json) through this header alone, and nothing here
// changes during a session. One Engine serves one rank; calls come from one thread.
//
// A request is: noise (or any latents) in, a list of timesteps, the latents after them out. One
// denoiser step is a list of one. What a request asks never says how the engine must get there: a
// mutable engine may skip, cache or round, and the coordinator judges what comes out.
#pragma once

#include "ditar/config/error.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

class Communicator;

/// Arithmetic the engine is asked for. kF64 is the oracle's reference mode on the CPU; on a GPU
/// the reference mode is kF32 (TF32 off).
enum class Precision : std::uint8_t { kF64, kF32, kTf32, kF16, kBF16 };
std::string_view to_string(Precision precision) noexcept;
/// "fp64", "fp32", "tf32", "fp16" or "bf16". @throws InvalidArgument otherwise.
Precision parse_precision(std::string_view text);

/// Which published implementation's details are followed (five silent differences: timestep
/// frequencies, second norm's epsilon, guided channels, use of the learned variance, cast of the
/// timestep embedding). kAuto follows the checkpoint's layout.
enum class Parity : std::uint8_t { kAuto, kOfficial, kDiffusers };
std::string_view to_string(Parity parity) noexcept;
Parity parse_parity(std::string_view text);

enum class SamplerKind : std::uint8_t { kDdpm, kDdim, kDpmSolverPlusPlus2M };
std::string_view to_string(SamplerKind kind) noexcept;
/// "ddpm", "ddim" or "dpmpp2m". @throws InvalidArgument otherwise.
SamplerKind parse_sampler(std::string_view text);

/// Everything that is fixed from load to exit.
struct EngineOptions {
  std::string model_path;  ///< .safetensors file or diffusers folder
  std::string knobs_path;  ///< config/engine.json; empty: built-in defaults
  Precision precision = Precision::kF32;
  Parity parity = Parity::kAuto;
  std::string device = "cpu";         ///< "cpu" or "cuda:N"
  int threads = 0;                    ///< CPU threads; 0: as many as the cpuset has
  std::string plan;                   ///< e.g. "cfg=2"; empty: the engine's planner decides
  std::int64_t memory_cap_bytes = 0;  ///< 0: none; more than this on one device is refused
};

/// Shape of one request. Latents are (images, channels, height, width), FP32, row-major.
struct RequestShape {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t count() const noexcept { return images * channels * height * width; }
  friend bool operator==(const RequestShape&, const RequestShape&) = default;
};

/// How the latents are to be moved. Timesteps are indices into the training schedule (0..999) in
/// the order they are visited, descending. The step after the last goes to alpha-bar = 1.
struct RequestSchedule {
  SamplerKind sampler = SamplerKind::kDdim;
  std::vector<std::int32_t> timesteps;
  double guidance = 1.0;         ///< 1: no guidance, one branch only
  int guided_channels = 0;       ///< 3, or 0 for all; ignored without guidance
  double eta = 0.0;              ///< DDIM only
  std::uint64_t noise_seed = 0;  ///< Philox key for samplers that draw noise
  friend bool operator==(const RequestSchedule&, const RequestSchedule&) = default;
};

/// What the loaded model is, as the harness reports it.
struct ModelFacts {
  std::string layout;  ///< "official" or "diffusers"
  std::string parity;  ///< the mode in force
  std::int64_t parameters = 0;
  std::int64_t channels = 0, height = 0, width = 0, patch = 0;
  std::int64_t hidden = 0, depth = 0, heads = 0, classes = 0;
  bool learned_variance = false;
};

/// One named duration or amount; diagnosis only, never part of a verdict.
struct PhaseRecord {
  std::string name;  ///< "load", "denoise", "denoise/attention", ...
  double milliseconds = 0.0;
  std::int64_t calls = 0;
  double flops = 0.0;
  double bytes = 0.0;
};

/// Where the time of one denoiser step goes. Diagnosis only.
struct StepProfile {
  std::string device;    ///< "cpu", or the GPU's full name
  std::string method;    ///< how the groups were timed
  double step_ms = 0.0;  ///< of a whole step, as it is served
  /// Of one step: "linear 512x3456x1152" (rows, columns, inner size), "attention", "norm", "patch",
  /// "sampler", and last "gaps", what no op covers; together step_ms. Empty where no way to time
  /// them is at hand.
  std::vector<PhaseRecord> groups;
  double matmul_flops_per_s = 0.0;  ///< reached by a large product in the engine's arithmetic
  double copy_bytes_per_s = 0.0;    ///< read and written by a large copy
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual ModelFacts facts() const = 0;
  /// Plans and allocates for this shape and schedule; loads nothing. All ranks call it alike.
  /// `labels` holds one class index per image. @throws InvalidArgument with the numbers if shape,
  /// labels, schedule or plan do not fit.
  virtual void prepare(const RequestShape& shape, const RequestSchedule& schedule,
                       std::span<const std::int32_t> labels) = 0;
  /// Copies the starting latents in. On ranks other than 0 `latents` may be empty: the engine
  /// distributes them.
  virtual void set_latents(std::span<const float> latents) = 0;
  /// Enqueues step k (0 .. timesteps.size()-1), in order. No allocation, no host synchronisation.
  virtual void step(std::int64_t k) = 0;
  /// Waits for the enqueued steps and writes the result on rank 0 (elsewhere `out` is ignored).
  /// @throws Error naming layer and step if the result is not finite.
  virtual void read_latents(std::span<float> out) = 0;

  /// Records since the last call; clears them.
  virtual std::vector<PhaseRecord> take_phases() = 0;
  /// Runs step k of the prepared request `repeats` times from its starting latents and says where
  /// the time goes; blocks, allocates, and leaves latents of no meaning. One rank alone.
  /// @throws InvalidArgument before prepare(); Unavailable where an engine has no such thing.
  virtual StepProfile profile_step(std::int64_t k, int repeats) {
    static_cast<void>(k + repeats);
    throw Unavailable("this engine cannot profile its steps");
  }
  /// Bytes planned before running, and the most that were in use since load.
  virtual std::int64_t planned_bytes() const = 0;
  virtual std::int64_t peak_bytes() const = 0;
  /// The plan in force ("single", "cfg=2", ...) and every knob's value, for the receipt; a
  /// flat JSON object as text.
  virtual std::string plan() const = 0;
  virtual std::string knobs_json() const = 0;
};

/// Loads the model. `communicator` may be null for one rank; it must outlive the engine.
/// @throws InvalidArgument, DataError, OutOfMemory with the place and the mend.
std::unique_ptr<Engine> make_engine(const EngineOptions& options, Communicator* communicator);

}  // namespace ditar
