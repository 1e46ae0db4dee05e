#include "denoiser.h"

#include "ditar/config/error.h"
#include "image_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ditar {
namespace {

constexpr double kNormEps = 1e-6;

}  // namespace

template <typename T>
Denoiser<T>::Denoiser(const ModelWeights<T>& weights, Parity parity, const Knobs& knobs,
                      int threads)
    : weights_(&weights),
      config_(weights.config),
      second_eps_(
          static_cast<T>(parity == Parity::kDiffusers ? weights.config.second_norm_eps : kNormEps)),
      knobs_(knobs),
      threads_(threads),
      ops_(&dense_ops<T>()),
      conditioning_(weights, parity, threads) {}

template <typename T>
void Denoiser<T>::prepare(std::int64_t images, std::vector<std::int32_t> labels,
                          std::vector<std::int32_t> timesteps) {
  images_ = images;
  labels_ = std::move(labels);
  timesteps_ = timesteps;
  conditioning_.prepare(std::move(timesteps), labels_, knobs_.modulation_table_mib << 20);
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const std::int64_t tokens = rows() * config_.tokens();
  patches_.resize(size(images * config_.tokens() * config_.patch_values()));
  x_.resize(size(tokens * config_.hidden));
  h_.resize(x_.size());
  y_.resize(x_.size());
  wide_.resize(size(tokens * std::max(3 * config_.hidden, config_.mlp_hidden)));
  scratch_.resize(
      size(std::max(threads_, 1) * attention_scratch<T>(config_.tokens(), config_.head_dim())));
  tokens_out_.resize(size(tokens * config_.out_values()));
  output_.resize(tokens_out_.size());
  pointers_.resize(size((config_.depth + 1) * 6 * rows()));
}

template <typename T>
void Denoiser<T>::point_at(std::size_t k) {
  conditioning_.ensure(k);
  const T** out = pointers_.data();
  const std::size_t depth = weights_->blocks.size();
  for (std::size_t i = 0; i <= depth; ++i) {
    for (std::int64_t which = 0; which < (i < depth ? 6 : 2); ++which) {
      for (const std::int32_t label : labels_) {
        const T* values =
            i < depth ? conditioning_.block(i, k, label) : conditioning_.final_layer(k, label);
        *out++ = values + which * config_.hidden;
      }
    }
  }
}

template <typename T>
const T* const* Denoiser<T>::part(std::size_t block, Part which) const {
  return pointers_.data() + (block * 6 + static_cast<std::size_t>(which)) * labels_.size();
}

template <typename T>
NormArgs<T> Denoiser<T>::norm_args(std::size_t block, bool second) const {
  return {rows(),
          config_.tokens(),
          config_.hidden,
          second ? second_eps_ : static_cast<T>(kNormEps),
          part(block, second ? kShift2 : kShift1),
          part(block, second ? kScale2 : kScale1)};
}

template <typename T>
void Denoiser<T>::look(const T* values, std::int64_t count, const std::string& layer) const {
  if (!check_) return;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    throw Error("step " + std::to_string(step_) + " (timestep " +
                std::to_string(timesteps_[step_]) + "): the output of " + layer +
                " is not finite; run in a wider precision or look for damaged weights");
  }
}

template <typename T>
void Denoiser<T>::linear(const T* x, const DenseLinear<T>& layer, Epilogue epilogue, T* y,
                         PhaseClock& clock) {
  const PackedWeights<T> packed = layer.packed();
  const std::int64_t count = rows() * config_.tokens();
  ops_->linear(x, count, packed, epilogue, y, threads_);
  clock.mark(Phase::kLinear, 2.0 * static_cast<double>(count * packed.in * packed.out));
}

// Patches of the images, embedded once where the branches share them, plus positions.
template <typename T>
void Denoiser<T>::embed(const T* x, PhaseClock& clock) {
  patchify(x, images_, config_, patches_.data());
  const std::int64_t each = config_.tokens() * config_.hidden;
  const std::int64_t branches = rows() / images_;
  const std::int64_t embedded = knobs_.share_patch_embed ? 1 : branches;
  for (std::int64_t branch = 0; branch < embedded; ++branch) {
    T* out = x_.data() + branch * images_ * each;
    ops_->linear(patches_.data(), images_ * config_.tokens(), weights_->patch.packed(),
                 Epilogue::kNone, out, threads_);
    for (std::int64_t n = 0; n < images_; ++n) {
      for (std::int64_t i = 0; i < each; ++i)
        out[n * each + i] += weights_->positions[static_cast<std::size_t>(i)];
    }
  }
  for (std::int64_t branch = embedded; branch < branches; ++branch) {
    std::copy_n(x_.data(), images_ * each, x_.data() + branch * images_ * each);
  }
  clock.mark(Phase::kPatch);
  look(x_.data(), rows() * each, "x_embedder");
}

template <typename T>
void Denoiser<T>::gate_norm(const T* const* gate, const NormArgs<T>& norm, PhaseClock& clock) {
  if (knobs_.fuse_gate_norm) {
    ops_->gate_norm_modulate(x_.data(), y_.data(), gate, norm, h_.data(), threads_);
  } else {
    ops_->gate_residual(x_.data(), y_.data(), gate, norm.images, norm.tokens, norm.hidden,
                        threads_);
    ops_->norm_modulate(x_.data(), norm, h_.data(), threads_);
  }
  clock.mark(Phase::kNorm);
}

// h_ holds the block's modulated input; afterwards the next block's (or the final layer's).
template <typename T>
void Denoiser<T>::block(std::size_t i, PhaseClock& clock) {
  const BlockWeights<T>& w = weights_->blocks[i];
  const std::int64_t count = rows() * config_.tokens();
  const auto name = [&](const char* layer) {
    return check_ ? "blocks." + std::to_string(i) + "." + layer : std::string();
  };
  linear(h_.data(), w.qkv, Epilogue::kNone, wide_.data(), clock);
  look(wide_.data(), count * 3 * config_.hidden, name("attn.qkv"));
  ops_->attention(wide_.data(), {rows(), config_.tokens(), config_.heads, config_.head_dim()},
                  h_.data(), scratch_.data(), threads_);
  clock.mark(Phase::kAttention,
             4.0 * static_cast<double>(count * config_.tokens() * config_.hidden));
  look(h_.data(), count * config_.hidden, name("attn"));
  linear(h_.data(), w.proj, Epilogue::kNone, y_.data(), clock);
  look(y_.data(), count * config_.hidden, name("attn.proj"));
  gate_norm(part(i, kGate1), norm_args(i, true), clock);
  look(h_.data(), count * config_.hidden, name("norm2"));
  linear(h_.data(), w.fc1, Epilogue::kGeluTanh, wide_.data(), clock);
  look(wide_.data(), count * config_.mlp_hidden, name("mlp.fc1"));
  linear(wide_.data(), w.fc2, Epilogue::kNone, y_.data(), clock);
  look(y_.data(), count * config_.hidden, name("mlp.fc2"));
  gate_norm(part(i, kGate2), norm_args(i + 1, false), clock);
  look(h_.data(), count * config_.hidden, name("output"));
}

template <typename T>
const T* Denoiser<T>::run(const T* x, std::size_t k, PhaseClock& clock, bool check) {
  clock.start();
  step_ = k;
  check_ = check;
  look(x, images_ * config_.channels * config_.height * config_.width, "the step before (latents)");
  point_at(k);
  clock.mark(Phase::kPrepare);
  embed(x, clock);
  ops_->norm_modulate(x_.data(), norm_args(0, false), h_.data(), threads_);
  clock.mark(Phase::kNorm);
  for (std::size_t i = 0; i < weights_->blocks.size(); ++i) block(i, clock);
  linear(h_.data(), weights_->final_linear, Epilogue::kNone, tokens_out_.data(), clock);
  unpatchify(tokens_out_.data(), rows(), config_, output_.data());
  clock.mark(Phase::kPatch);
  look(output_.data(), static_cast<std::int64_t>(output_.size()), "final_layer");
  return output_.data();
}

template <typename T>
std::int64_t Denoiser<T>::workspace_bytes() const noexcept {
  const std::size_t values = patches_.size() + x_.size() + h_.size() + y_.size() + wide_.size() +
                             scratch_.size() + tokens_out_.size() + output_.size();
  return static_cast<std::int64_t>(values * sizeof(T) + pointers_.size() * sizeof(const T*)) +
         conditioning_.size_bytes();
}

template class Denoiser<float>;
template class Denoiser<double>;

}  // namespace ditar
