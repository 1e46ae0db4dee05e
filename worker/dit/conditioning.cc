#include "conditioning.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr std::size_t kFeatures = 256;

}  // namespace

std::vector<double> timestep_features(std::span<const std::int32_t> timesteps, Parity parity) {
  constexpr std::size_t kHalf = kFeatures / 2;
  const double divisor = parity == Parity::kDiffusers ? kHalf - 1 : kHalf;
  std::vector<double> out(timesteps.size() * kFeatures);
  for (std::size_t s = 0; s < timesteps.size(); ++s) {
    for (std::size_t i = 0; i < kHalf; ++i) {
      const double frequency = std::exp(-std::log(10000.0) * static_cast<double>(i) / divisor);
      const double angle = timesteps[s] * frequency;
      out[s * kFeatures + i] = std::cos(angle);
      out[s * kFeatures + kHalf + i] = std::sin(angle);
    }
  }
  return out;
}

template <typename T>
void Conditioning<T>::prepare(std::vector<std::int32_t> timesteps,
                              std::span<const std::int32_t> labels, std::int64_t limit_bytes) {
  const ModelConfig& c = weights_->config;
  timesteps_ = std::move(timesteps);
  distinct_.assign(labels.begin(), labels.end());
  std::sort(distinct_.begin(), distinct_.end());
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  slot_of_.assign(static_cast<std::size_t>(c.classes + 1), -1);
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    slot_of_[static_cast<std::size_t>(distinct_[i])] = static_cast<std::int64_t>(i);
  }
  const auto hidden = static_cast<std::size_t>(c.hidden);
  const std::size_t step_values =
      distinct_.size() * hidden * (6 * static_cast<std::size_t>(c.depth) + 2);
  const auto limit = static_cast<std::size_t>(limit_bytes) / (step_values * sizeof(T));
  part_steps_ = std::clamp<std::size_t>(limit, 1, timesteps_.size());
  const std::size_t rows = part_steps_ * distinct_.size();
  const std::vector<double> features = timestep_features(timesteps_, parity_);
  features_.assign(features.begin(), features.end());
  time_hidden_.resize(part_steps_ * hidden);
  time_.resize(part_steps_ * hidden);
  condition_.resize(rows * hidden);
  blocks_.resize(static_cast<std::size_t>(c.depth));
  for (std::vector<T>& block : blocks_) block.resize(rows * 6 * hidden);
  final_.resize(rows * 2 * hidden);
  first_ = held_ = 0;
}

// condition_ = SiLU(time embedding + label embedding) for every step of the part and every label.
template <typename T>
void Conditioning<T>::condition(const EmbedderWeights<T>& embedder, std::size_t first,
                                std::size_t steps) {
  const DenseOps<T>& ops = dense_ops<T>();
  const auto hidden = static_cast<std::size_t>(weights_->config.hidden);
  ops.linear(features_.data() + first * kFeatures, static_cast<std::int64_t>(steps),
             embedder.time_in.packed(), Epilogue::kSilu, time_hidden_.data(), threads_);
  ops.linear(time_hidden_.data(), static_cast<std::int64_t>(steps), embedder.time_out.packed(),
             Epilogue::kNone, time_.data(), threads_);
  T* out = condition_.data();
  for (std::size_t s = 0; s < steps; ++s) {
    for (const std::int32_t label : distinct_) {
      const T* time = time_.data() + s * hidden;
      const T* name = embedder.labels.data() + static_cast<std::size_t>(label) * hidden;
      for (std::size_t d = 0; d < hidden; ++d) {
        const T sum = time[d] + name[d];
        *out++ = sum / (T(1) + std::exp(-sum));
      }
    }
  }
}

template <typename T>
void Conditioning<T>::ensure(std::size_t k) {
  if (k >= first_ && k < first_ + held_) return;
  first_ = k;
  held_ = std::min(part_steps_, timesteps_.size() - k);
  const DenseOps<T>& ops = dense_ops<T>();
  const auto rows = static_cast<std::int64_t>(held_ * distinct_.size());
  const std::vector<EmbedderWeights<T>>& embedders = weights_->embedders;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i < embedders.size()) condition(embedders[i], first_, held_);
    ops.linear(condition_.data(), rows, weights_->blocks[i].modulation.packed(), Epilogue::kNone,
               blocks_[i].data(), threads_);
    if (i == 0) {  // the final layer takes block 0's condition
      ops.linear(condition_.data(), rows, weights_->final_modulation.packed(), Epilogue::kNone,
                 final_.data(), threads_);
    }
  }
}

template <typename T>
std::size_t Conditioning<T>::row(std::size_t k, std::int32_t label) const {
  return (k - first_) * distinct_.size() +
         static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(label)]);
}

template <typename T>
const T* Conditioning<T>::block(std::size_t block, std::size_t k, std::int32_t label) const {
  return blocks_[block].data() +
         row(k, label) * 6 * static_cast<std::size_t>(weights_->config.hidden);
}

template <typename T>
const T* Conditioning<T>::final_layer(std::size_t k, std::int32_t label) const {
  return final_.data() + row(k, label) * 2 * static_cast<std::size_t>(weights_->config.hidden);
}

template <typename T>
std::int64_t Conditioning<T>::size_bytes() const noexcept {
  std::size_t values =
      features_.size() + time_hidden_.size() + time_.size() + condition_.size() + final_.size();
  for (const std::vector<T>& block : blocks_) values += block.size();
  return static_cast<std::int64_t>(values * sizeof(T));
}

template class Conditioning<float>;
template class Conditioning<double>;

}  // namespace ditar
