// The Engine of one rank on the CPU, in FP32 or FP64: denoiser, guidance, sampler and the data and
// CFG splits. One thread at a time; every rank of the communicator makes the same calls.
#pragma once

#include "denoiser.h"
#include "ditar/worker/engine.h"
#include "sampler_plan.h"
#include "split_plan.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ditar {

template <typename T>
class DitEngine final : public Engine {
 public:
  /// `communicator` may be null for one rank; it must outlive the engine.
  DitEngine(const Checkpoint& checkpoint, const EngineOptions& options, const Knobs& knobs,
            Communicator* communicator);
  ~DitEngine() override;

  ModelFacts facts() const override;
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override;
  void set_latents(std::span<const float> latents) override;
  void step(std::int64_t k) override;
  void read_latents(std::span<float> out) override;
  std::vector<PhaseRecord> take_phases() override { return clock_.take(); }
  std::int64_t planned_bytes() const override;
  std::int64_t peak_bytes() const override { return peak_bytes_; }
  std::string plan() const override { return to_string(split_); }
  std::string knobs_json() const override;

  /// Takes noise[k] (steps, images, C, H, W) instead of drawing it; prepare() forgets it.
  void inject_noise(std::vector<float> noise);
  /// This rank's own latents, not rounded to FP32.
  std::span<const T> state() const noexcept { return x_; }

 private:
  void check_request(const RequestShape& shape, std::span<const std::int32_t> labels) const;
  void check_memory() const;
  /// `check` makes the first layer that is not finite throw.
  void advance(std::size_t k, bool check);
  void predict(std::size_t k, bool check);
  const float* noise_for(std::size_t k);
  void explain_not_finite();
  int rank() const;
  std::int64_t each() const noexcept { return shape_.count() / shape_.images; }

  const EngineOptions options_;
  const Knobs knobs_;
  const std::string layout_;
  const Parity parity_;
  Communicator* communicator_;
  ModelWeights<T> weights_;
  int threads_;
  SplitPlan split_;
  std::unique_ptr<Communicator> branch_group_;  ///< the two ranks of one cfg=2 group
  Denoiser<T> denoiser_;
  PhaseClock clock_;
  std::int64_t peak_bytes_ = 0;

  RequestShape shape_;
  RequestSchedule schedule_;
  SamplerPlan sampler_;
  Shard shard_;
  std::vector<float> staging_;  ///< FP32 latents on their way in and out
  std::vector<T> start_, x_, eps_, history_, branches_;
  std::vector<float> noise_, injected_;
  const T* cond_ = nullptr;  ///< the conditional output of the last prediction
};

}  // namespace ditar
