#include "conditioning.h"

#include "ditar/kernels/ops/embedding.h"
#include "ditar/parallel/pulse.h"

#include <algorithm>

namespace ditar {
namespace {

constexpr std::int64_t kFeatures = 256;

std::size_t most_workspace(const ModelWeights& w, std::int64_t rows, std::int64_t steps) {
  std::size_t most = w.final_modulation.workspace_bytes(rows);
  for (const BlockWeights& b : w.blocks) most = std::max(most, b.modulation.workspace_bytes(rows));
  for (const EmbedderWeights& e : w.embedders) {
    most = std::max({most, e.time_in.workspace_bytes(steps), e.time_out.workspace_bytes(steps)});
  }
  return most;
}

}  // namespace

void Conditioning::prepare(std::span<const std::int32_t> timesteps,
                           std::span<const std::int32_t> labels, std::int64_t limit_bytes,
                           StreamView stream) {
  const ModelConfig& c = weights_->config;
  const DType dtype = weights_->dtype;
  timesteps_ = static_cast<std::int64_t>(timesteps.size());
  rows_ = static_cast<std::int64_t>(labels.size());
  const bool alike = std::all_of(labels.begin(), labels.end(),
                                 [&](std::int32_t label) { return label == labels.front(); });
  distinct_ = alike ? 1 : rows_;
  const std::int64_t step_bytes = distinct_ * c.hidden *
                                  (6 * static_cast<std::int64_t>(weights_->blocks.size()) + 2) *
                                  static_cast<std::int64_t>(size_of(dtype));
  part_steps_ = std::clamp<std::int64_t>(limit_bytes / step_bytes, 1, timesteps_);
  const std::int64_t rows = part_steps_ * distinct_;
  arena_.clear();
  features_ = arena_.add({timesteps_, kFeatures}, dtype);
  time_hidden_ = arena_.add({part_steps_, c.hidden}, dtype);
  time_ = arena_.add({part_steps_, c.hidden}, dtype);
  condition_ = arena_.add({rows, c.hidden}, dtype);
  final_ = arena_.add({rows, 2 * c.hidden}, dtype);
  workspace_ = arena_.add({static_cast<std::int64_t>(most_workspace(*weights_, rows, part_steps_))},
                          DType::kU8);
  labels_.clear();
  for (std::size_t i = 0; i < weights_->embedders.size(); ++i) {
    labels_.push_back(arena_.add({distinct_, c.hidden}, dtype));
  }
  blocks_.clear();
  for (std::size_t i = 0; i < weights_->blocks.size(); ++i) {
    blocks_.push_back(arena_.add({rows, 6 * c.hidden}, dtype));
  }
  arena_.allocate();
  first_ = held_ = 0;
  const std::vector<double> steps(timesteps.begin(), timesteps.end());
  timestep_embedding(steps,
                     parity_ == Parity::kDiffusers ? TimestepFrequencies::kDiffusers
                                                   : TimestepFrequencies::kOfficial,
                     arena_.view(features_), stream);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    embedding_lookup(weights_->embedders[i].labels,
                     labels.first(static_cast<std::size_t>(distinct_)), arena_.view(labels_[i]),
                     stream);
  }
}

TensorView Conditioning::rows_of(std::size_t slot, std::int64_t rows) {
  return arena_.view(slot).slice(0, rows);
}

// condition_ = SiLU(time embedding + label embedding) for every label and step of the part.
void Conditioning::condition(std::size_t embedder, StreamView stream) {
  const EmbedderWeights& e = weights_->embedders[embedder];
  const auto steps = static_cast<std::int64_t>(held_);
  const auto first = static_cast<std::int64_t>(first_);
  const std::int64_t hidden = weights_->config.hidden;
  const TensorView workspace = arena_.view(workspace_);
  const TensorView time = rows_of(time_, steps);
  e.time_in.run(arena_.view(features_).slice(first, first + steps), rows_of(time_hidden_, steps),
                {.activation = Activation::kSilu, .gate = {}, .rows_per_image = 0, .residual = {}},
                workspace, stream);
  e.time_out.run(rows_of(time_hidden_, steps), time, {}, workspace, stream);
  const TensorView all = rows_of(condition_, distinct_ * steps);
  fill_bytes(all.data(), all.device(), 0, all.size_bytes(), stream);
  add_rows(time, all.reshape({distinct_, steps, hidden}), stream);
  for (std::int64_t label = 0; label < distinct_; ++label) {
    add_rows(arena_.view(labels_[embedder]).slice(label, label + 1),
             all.slice(label * steps, (label + 1) * steps).reshape({steps, 1, hidden}), stream);
  }
  silu(all, all, stream);
}

bool Conditioning::ensure(std::size_t k, StreamView stream) {
  if (k >= first_ && k < first_ + held_) return false;
  first_ = k;
  held_ = std::min(static_cast<std::size_t>(part_steps_), static_cast<std::size_t>(timesteps_) - k);
  const std::int64_t rows = distinct_ * static_cast<std::int64_t>(held_);
  const TensorView workspace = arena_.view(workspace_);
  const TensorView conditions = rows_of(condition_, rows);
  // The final layer takes block 0's condition, which is the first embedder's, or stands last.
  for (std::size_t i = 0; i < std::max(blocks_.size(), labels_.size()); ++i) {
    const double hidden = static_cast<double>(weights_->config.hidden);
    const double flops = 12.0 * static_cast<double>(rows) * hidden * hidden;
    pulse_tick("adaLN of the layers held", static_cast<std::int64_t>(i),
               kUsualOp + std::chrono::milliseconds(static_cast<std::int64_t>(flops / 1e5)));
    if (i < labels_.size()) condition(i, stream);
    if (i < blocks_.size()) {
      weights_->blocks[i].modulation.run(conditions, rows_of(blocks_[i], rows), {}, workspace,
                                         stream);
    }
    if (i == weights_->final_embedder) {
      weights_->final_modulation.run(conditions, rows_of(final_, rows), {}, workspace, stream);
    }
  }
  return true;
}

ConstTensorView Conditioning::part(std::size_t slot, std::size_t k, std::int64_t which) {
  const TensorView table = arena_.view(slot);
  const std::int64_t width = table.size(1);
  const std::int64_t hidden = weights_->config.hidden;
  const auto steps = static_cast<std::int64_t>(held_);
  const std::int64_t at = static_cast<std::int64_t>(k - first_) * width + which * hidden;
  const Strides strides{distinct_ == 1 ? 0 : steps * width, 1};
  return ConstTensorView(static_cast<const char*>(table.data()) +
                             at * static_cast<std::int64_t>(size_of(table.dtype())),
                         Shape{rows_, hidden}, strides, table.dtype(), table.device());
}

ConstTensorView Conditioning::block(std::size_t block, std::size_t k, int which) {
  return part(blocks_[block], k, which);
}

ConstTensorView Conditioning::final_layer(std::size_t k, int which) {
  return part(final_, k, which);
}

}  // namespace ditar
