#include "denoiser.h"

#include "ditar/config/error.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/embedding.h"
#include "ditar/kernels/ops/norm.h"
#include "ditar/kernels/ops/patch.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr double kNormEps = 1e-6;

}  // namespace

Denoiser::Denoiser(const ModelWeights& weights, Parity parity, const Knobs& knobs,
                   StreamView stream)
    : weights_(&weights),
      config_(weights.config),
      second_eps_(parity == Parity::kDiffusers ? weights.config.second_norm_eps : kNormEps),
      knobs_(knobs),
      stream_(stream),
      conditioning_(weights, parity),
      arena_(weights.device) {}

std::size_t Denoiser::most_workspace() const {
  const std::int64_t count = rows() * config_.tokens();
  std::size_t most = attention_workspace_bytes(weights_->device, weights_->dtype, config_.tokens(),
                                               config_.tokens(), config_.head_dim());
  for (const BlockWeights& b : weights_->blocks) {
    for (const Linear* layer : {&b.qkv, &b.proj, &b.fc1, &b.fc2}) {
      most = std::max(most, layer->workspace_bytes(count));
    }
  }
  return std::max({most, weights_->patch.workspace_bytes(count),
                   weights_->final_linear.workspace_bytes(count)});
}

void Denoiser::prepare(std::int64_t images, std::vector<std::int32_t> labels,
                       std::vector<std::int32_t> timesteps) {
  images_ = images;
  labels_ = std::move(labels);
  timesteps_ = std::move(timesteps);
  conditioning_.prepare(timesteps_, labels_, knobs_.modulation_table_mib << 20, stream_);
  const ModelConfig& c = config_;
  const DType dtype = weights_->dtype;
  const std::int64_t tokens = rows() * c.tokens();
  arena_.clear();
  const std::size_t patches = arena_.add({images * c.tokens(), c.patch_values()}, dtype);
  const std::size_t x = arena_.add({rows(), c.tokens(), c.hidden}, dtype);
  const std::size_t h = arena_.add({rows(), c.tokens(), c.hidden}, dtype);
  const std::size_t y = arena_.add({rows(), c.tokens(), c.hidden}, dtype);
  const std::size_t wide = arena_.add({tokens * std::max(3 * c.hidden, c.mlp_hidden)}, dtype);
  const std::size_t tokens_out = arena_.add({tokens, c.out_values()}, dtype);
  const std::size_t output = arena_.add({rows(), c.out_channels(), c.height, c.width}, dtype);
  const std::size_t workspace =
      arena_.add({static_cast<std::int64_t>(most_workspace())}, DType::kU8);
  arena_.allocate();
  const TensorView both = arena_.view(wide);
  all_ = {.patches = arena_.view(patches),
          .x = arena_.view(x),
          .h = arena_.view(h),
          .y = arena_.view(y),
          .qkv = both.slice(0, tokens * 3 * c.hidden)
                     .reshape({rows(), c.tokens(), 3, c.heads, c.head_dim()}),
          .mlp = both.slice(0, tokens * c.mlp_hidden).reshape({tokens, c.mlp_hidden}),
          .tokens_out = arena_.view(tokens_out),
          .output = arena_.view(output),
          .workspace = arena_.view(workspace)};
}

Denoiser::Activations Denoiser::rows_of(const Activations& all, std::int64_t begin,
                                        std::int64_t end) const {
  const std::int64_t tokens = config_.tokens();
  return {.patches = all.patches,
          .x = all.x.slice(begin, end),
          .h = all.h.slice(begin, end),
          .y = all.y.slice(begin, end),
          .qkv = all.qkv.slice(begin, end),
          .mlp = all.mlp.slice(begin * tokens, end * tokens),
          .tokens_out = all.tokens_out.slice(begin * tokens, end * tokens),
          .output = all.output.slice(begin, end),
          .workspace = all.workspace};
}

TensorView Denoiser::flat(const TensorView& tokens) const {
  return tokens.reshape({tokens.size(0) * tokens.size(1), config_.hidden});
}

// The part of a block, or of the final layer, which stands behind the last one.
ConstTensorView Denoiser::part(std::size_t block, Part which) {
  const ConstTensorView all = block < weights_->blocks.size()
                                  ? conditioning_.block(block, step_, which)
                                  : conditioning_.final_layer(step_, which);
  return all.slice(first_row_, first_row_ + a_.x.size(0));
}

void Denoiser::look(ConstTensorView values, const std::string& layer) const {
  if (!check_) return;
  Tensor wide(values.shape(), DType::kF64, values.device());
  Tensor host(values.shape(), DType::kF64, Device{});
  convert(values, wide, stream_);
  copy(wide, host, stream_);
  stream_.synchronize();
  const double* begin = host.as<double>();
  if (std::all_of(begin, begin + values.count(), [](double v) { return std::isfinite(v); })) return;
  throw Error("step " + std::to_string(step_) + " (timestep " + std::to_string(timesteps_[step_]) +
              "): the output of " + layer +
              " is not finite; run in a wider precision or look for damaged weights");
}

void Denoiser::linear(ConstTensorView x, const Linear& layer, Activation activation, TensorView y,
                      PhaseClock& clock) {
  layer.run(x, y, {.activation = activation, .gate = {}, .rows_per_image = 0, .residual = {}},
            a_.workspace, stream_);
  clock.mark(Phase::kLinear,
             2.0 * static_cast<double>(x.size(0) * layer.in_features() * layer.out_features()));
}

// Patches of the images, embedded once where the branches share them, plus positions.
void Denoiser::embed(ConstTensorView x, PhaseClock& clock) {
  patchify(x, config_.patch, all_.patches, stream_);
  const std::int64_t branches = rows() / images_;
  const std::int64_t embedded = knobs_.share_patch_embed ? 1 : branches;
  const auto of_branch = [&](std::int64_t branch) {
    return all_.x.slice(branch * images_, (branch + 1) * images_);
  };
  for (std::int64_t branch = 0; branch < embedded; ++branch) {
    const TensorView out = of_branch(branch);
    weights_->patch.run(all_.patches, flat(out), {}, all_.workspace, stream_);
    add_rows(weights_->positions, out, stream_);
  }
  for (std::int64_t branch = embedded; branch < branches; ++branch) {
    copy(of_branch(0), of_branch(branch), stream_);
  }
  clock.mark(Phase::kPatch);
  look(all_.x, "x_embedder");
}

void Denoiser::gate_norm(ConstTensorView gate, ConstTensorView shift, ConstTensorView scale,
                         double eps, PhaseClock& clock) {
  if (knobs_.fuse_gate_norm) {
    gate_residual_layer_norm_modulate(a_.y, gate, shift, scale, eps, a_.x, a_.h, stream_);
  } else {
    gate_residual(a_.y, gate, a_.x, stream_);
    layer_norm_modulate(a_.x, shift, scale, eps, a_.h, stream_);
  }
  clock.mark(Phase::kNorm);
}

// h holds the block's modulated input; afterwards the next block's (or the final layer's).
void Denoiser::block(std::size_t i, PhaseClock& clock) {
  const BlockWeights& w = weights_->blocks[i];
  const std::int64_t count = a_.x.size(0) * config_.tokens();
  const auto name = [&](const char* layer) {
    return check_ ? "blocks." + std::to_string(i) + "." + layer : std::string();
  };
  linear(flat(a_.h), w.qkv, Activation::kNone, a_.qkv.reshape({count, 3 * config_.hidden}), clock);
  look(a_.qkv, name("attn.qkv"));
  attention_packed(a_.qkv, a_.h, a_.workspace, stream_);
  clock.mark(Phase::kAttention,
             4.0 * static_cast<double>(count * config_.tokens() * config_.hidden));
  look(a_.h, name("attn"));
  linear(flat(a_.h), w.proj, Activation::kNone, flat(a_.y), clock);
  look(a_.y, name("attn.proj"));
  gate_norm(part(i, kGate1), part(i, kShift2), part(i, kScale2), second_eps_, clock);
  look(a_.h, name("norm2"));
  linear(flat(a_.h), w.fc1, Activation::kGeluTanh, a_.mlp, clock);
  look(a_.mlp, name("mlp.fc1"));
  linear(a_.mlp, w.fc2, Activation::kNone, flat(a_.y), clock);
  look(a_.y, name("mlp.fc2"));
  gate_norm(part(i, kGate2), part(i + 1, kShift1), part(i + 1, kScale1), kNormEps, clock);
  look(a_.h, name("output"));
}

ConstTensorView Denoiser::run(ConstTensorView x, std::size_t k, PhaseClock& clock, bool check) {
  clock.start_part();
  step_ = k;
  check_ = check;
  look(x, "the step before (latents)");
  if (conditioning_.ensure(k, stream_)) clock.mark(Phase::kPrepare);
  embed(x, clock);
  const std::int64_t each = knobs_.batch_guidance ? rows() : images_;
  for (first_row_ = 0; first_row_ < rows(); first_row_ += each) {
    a_ = rows_of(all_, first_row_, first_row_ + each);
    layer_norm_modulate(a_.x, part(0, kShift1), part(0, kScale1), kNormEps, a_.h, stream_);
    clock.mark(Phase::kNorm);
    for (std::size_t i = 0; i < weights_->blocks.size(); ++i) block(i, clock);
    linear(flat(a_.h), weights_->final_linear, Activation::kNone, a_.tokens_out, clock);
  }
  unpatchify(all_.tokens_out, config_.patch, all_.output, stream_);
  clock.mark(Phase::kPatch);
  look(all_.output, "final_layer");
  return all_.output;
}

}  // namespace ditar
