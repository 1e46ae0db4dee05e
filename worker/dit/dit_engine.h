// The Engine of one rank on one device: denoiser, guidance, sampler and the split over ranks.
// The latents stay on the device from set_latents() to read_latents(). One thread at a time; every
// rank of the communicator makes the same calls.
#pragma once

#include "denoiser.h"
#include "ditar/kernels/graph.h"
#include "ditar/parallel/rank_groups.h"
#include "ditar/worker/engine.h"
#include "sampler_plan.h"
#include "split_plan.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ditar {

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
  StepProfile profile_step(std::int64_t k, int repeats) override;
  std::int64_t planned_bytes() const override;
  std::int64_t peak_bytes() const override { return peak_bytes_; }
  std::string plan() const override { return format_plan(mesh().plan()); }
  std::string knobs_json() const override;

  /// Takes noise[k] (steps, images, C, H, W) instead of drawing it; prepare() forgets it. For
  /// comparisons: steps then wait for the host.
  void inject_noise(std::vector<float> noise);
  /// This rank's own latents (images, C, H, W), not rounded to FP32.
  ConstTensorView state() const noexcept { return x_; }

 private:
  void check_request(const RequestShape& shape, std::span<const std::int32_t> labels) const;
  void agree_on(const RequestShape& shape, const RequestSchedule& schedule,
                std::span<const std::int32_t> labels) const;
  void check_memory() const;
  void plan_latents();
  /// FP32 host values to latents of the engine's dtype on its device, and back; download waits.
  void upload(const float* values, TensorView latents);
  void download(ConstTensorView latents, float* values);
  /// `check` makes the first layer that is not finite throw.
  void advance(std::size_t k, bool check);
  void predict(std::size_t k, bool check);
  ConstTensorView gather_branches(ConstTensorView output);
  ConstTensorView noise_for(std::size_t k);
  void update(std::size_t k);
  void profile_on_host(std::size_t k, int repeats, StepProfile& profile);
  void profile_on_gpu(std::size_t k, int repeats, StepProfile& profile);
  /// Records every step as a graph, unless those of the request before serve this one too.
  void record_steps(std::vector<Graph> former, bool labels_alike);
  /// Waits for the enqueued steps, one after the other.
  void finish_steps();
  void collect(std::span<float> out);
  void explain_not_finite();
  const DeviceMesh& mesh() const noexcept { return groups_.mesh(); }
  int rank() const noexcept { return mesh().rank(); }
  std::int64_t each() const noexcept { return shape_.count() / shape_.images; }
  bool on_host() const noexcept { return device_.type == DeviceType::kCpu; }

  const EngineOptions options_;
  const Knobs knobs_;
  const std::string layout_;
  const Device device_;
  const DType dtype_;
  const Parity parity_;
  const int threads_;
  Communicator* communicator_;
  Stream stream_;
  PhaseClock clock_;
  RankGroups groups_;
  ModelWeights weights_;
  Denoiser denoiser_;
  Arena arena_;  ///< of the latents and what stands beside them
  std::int64_t peak_bytes_ = 0;

  RequestShape shape_;
  RequestSchedule schedule_;
  SamplerPlan sampler_;
  Shard shard_;
  std::vector<std::uint64_t> image_ids_;  ///< of this rank's images in the whole request
  TensorView start_, x_, next_, guided_, history_, noise_, branches_;
  TensorView staged_;  ///< FP32 latents on the device; unused on the CPU
  Tensor staging_;     ///< FP32 latents in host memory on their way in and out
  std::vector<float> injected_;
  /// What the recorded steps hold besides the contents of memory.
  struct Recorded {
    RequestShape shape;
    RequestSchedule schedule;
    bool labels_alike = false;
    friend bool operator==(const Recorded&, const Recorded&) = default;
  };
  Recorded recorded_;
  std::vector<Event> marks_;    ///< of a GPU: one behind each enqueued step, or more
  std::vector<Graph> graphs_;   ///< one for each sampler step; empty: steps are enqueued op by op
  ConstTensorView eps_, cond_;  ///< guided and conditional output of the last prediction
};

}  // namespace ditar
