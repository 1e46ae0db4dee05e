// The forward pass of DiT (Peebles & Xie 2023, section 3; layout of the published code) over a
// planned workspace. One thread at a time; the weights may be shared.
#pragma once

#include "conditioning.h"
#include "phase_clock.h"

#include <string>
#include <vector>

namespace ditar {

template <typename T>
class Denoiser {
 public:
  Denoiser(const ModelWeights<T>& weights, Parity parity, const Knobs& knobs, int threads);

  /// Plans for `images` latents, with one output row for each of `labels` (labels.size() is images,
  /// or 2 * images: then row images + i is another condition of image i).
  void prepare(std::int64_t images, std::vector<std::int32_t> labels,
               std::vector<std::int32_t> timesteps);
  /// x (images, C, H, W) at step k -> output (rows, out_channels, H, W), which stays valid until
  /// the next call. No allocation. With `check`, every layer's result is looked at: @throws Error
  /// naming the layer and the step that first is not finite.
  const T* run(const T* x, std::size_t k, PhaseClock& clock, bool check = false);

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t workspace_bytes() const noexcept;

 private:
  enum Part { kShift1, kScale1, kGate1, kShift2, kScale2, kGate2 };
  void point_at(std::size_t k);
  void embed(const T* x, PhaseClock& clock);
  void block(std::size_t i, PhaseClock& clock);
  void gate_norm(const T* const* gate, const NormArgs<T>& norm, PhaseClock& clock);
  void linear(const T* x, const DenseLinear<T>& layer, Epilogue epilogue, T* y, PhaseClock& clock);
  NormArgs<T> norm_args(std::size_t block, bool second) const;
  const T* const* part(std::size_t block, Part which) const;
  void look(const T* values, std::int64_t count, const std::string& layer) const;

  const ModelWeights<T>* weights_;
  const ModelConfig config_;
  const T second_eps_;
  const Knobs knobs_;
  const int threads_;
  const DenseOps<T>* ops_;
  Conditioning<T> conditioning_;
  std::int64_t images_ = 0;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> timesteps_;
  std::size_t step_ = 0;
  bool check_ = false;
  std::vector<const T*> pointers_;  ///< (depth + 1, 6, rows) into the conditioning's table
  std::vector<T> patches_, x_, h_, y_, wide_, scratch_, tokens_out_, output_;
};

}  // namespace ditar
