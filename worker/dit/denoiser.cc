#include "denoiser.h"

#include "ditar/config/error.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/embedding.h"
#include "ditar/kernels/ops/norm.h"
#include "ditar/kernels/ops/patch.h"
#include "ditar/kernels/ops/rearrange.h"
#include "ditar/kernels/range.h"
#include "ditar/parallel/pulse.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

constexpr double kNormEps = 1e-6;
constexpr double kSlowestFlops = 1e8;  // a second, of a loaded CPU in FP64
constexpr int kMicroBatches = 8;  // a pipeline stage: 1/16 of the time is bubble with two stages

const RankGroups& one_rank() {
  static const RankGroups groups(Plan{}, nullptr, Device{});
  return groups;
}

double bytes_of(const ConstTensorView& view) { return static_cast<double>(view.size_bytes()); }

/// Waits for `values`. A GPU widens to FP32 at most, the CPU keeps FP64 (whose range is wider).
bool all_finite(ConstTensorView values, StreamView stream) {
  const bool on_host = values.device().type == DeviceType::kCpu;
  Tensor wide(values.shape(), on_host ? DType::kF64 : DType::kF32, values.device());
  convert(values, wide, stream);
  const auto check = [&](const auto* begin) {
    return std::all_of(begin, begin + values.count(), [](auto v) { return std::isfinite(v); });
  };
  if (on_host) return check(wide.as<double>());
  Tensor host(values.shape(), DType::kF32, Device{});
  copy(wide, host, stream);
  stream.synchronize();
  return check(host.as<float>());
}

}  // namespace

Denoiser::Denoiser(const ModelWeights& weights, Parity parity, const Knobs& knobs,
                   StreamView stream, const RankGroups* groups)
    : weights_(&weights),
      config_(weights.config),
      second_eps_(parity == Parity::kDiffusers ? weights.config.second_norm_eps : kNormEps),
      knobs_(knobs),
      groups_(groups == nullptr ? &one_rank() : groups),
      tokens_(groups_->mesh().share(MeshAxis::kSequence, weights.config.tokens())),
      stream_(stream),
      transfers_(weights.device),
      computed_(weights.device),
      transferred_(weights.device),
      conditioning_(weights, parity),
      arena_(weights.device) {
  Communicator* const group = groups_->along(MeshAxis::kSequence);
  require(!shares_stale() || group == nullptr,
          "the knob stale_patches does not go with a sequence split; choose one of both");
  if (group == nullptr) return;
  const AttentionShape shape{.tokens = config_.tokens(),
                             .heads = weights.heads(),
                             .head_size = config_.head_dim(),
                             .dtype = weights.dtype,
                             .device = weights.device};
  sequence_ = groups_->mesh().plan().sequence_kind == SequenceKind::kRing
                  ? make_ring_attention(*group, shape)
                  : make_ulysses_attention(*group, shape);
}

std::size_t Denoiser::most_workspace() const {
  const std::int64_t count = rows() * tokens_.count();
  std::size_t most = attention_workspace_bytes(weights_->device, weights_->dtype, config_.tokens(),
                                               config_.tokens(), config_.head_dim());
  if (sequence_) most = std::max(most, sequence_->workspace_bytes(rows()));
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
  const std::int64_t own = tokens_.count(), heads = weights_->heads();
  const std::int64_t tokens = rows() * own, mlp_hidden = weights_->mlp_hidden();
  const int ranks = groups_->mesh().degree(MeshAxis::kSequence);
  const std::int64_t most = split_range(c.tokens(), ranks, 0).count();
  const std::int64_t split = ranks > 1 ? 1 : 0;  // sizes of what only split tokens need
  arena_.clear();
  const std::size_t patches = arena_.add({images * c.tokens(), c.patch_values()}, dtype);
  const std::size_t own_patches = arena_.add({split * images * own, c.patch_values()}, dtype);
  const std::size_t x = arena_.add({rows(), own, c.hidden}, dtype);
  const std::size_t h = arena_.add({rows(), own, c.hidden}, dtype);
  const std::size_t y = arena_.add({rows(), own, c.hidden}, dtype);
  const std::int64_t qkv_width = 3 * heads * c.head_dim();
  const std::size_t wide = arena_.add({tokens * std::max(qkv_width, mlp_hidden)}, dtype);
  const std::size_t tokens_out = arena_.add({rows() * most, c.out_values()}, dtype);
  const std::size_t gathered =
      arena_.add({split * ranks, split * rows() * most, c.out_values()}, dtype);
  const std::size_t all_tokens = arena_.add({split * rows() * c.tokens(), c.out_values()}, dtype);
  const std::size_t output = arena_.add({rows(), c.out_channels(), c.height, c.width}, dtype);
  const std::int64_t layers =
      shares_stale() ? static_cast<std::int64_t>(weights_->blocks.size()) : 0;
  const std::size_t kept = arena_.add({layers, rows(), own, 2 * heads * c.head_dim()}, dtype);
  const std::size_t workspace =
      arena_.add({static_cast<std::int64_t>(most_workspace())}, DType::kU8);
  arena_.allocate();
  kept_ = arena_.view(kept);
  const TensorView both = arena_.view(wide);
  patches_ = arena_.view(patches);
  own_patches_ = split != 0 ? arena_.view(own_patches) : patches_;
  gathered_ = arena_.view(gathered);
  all_tokens_ = arena_.view(all_tokens);
  output_ = arena_.view(output);
  workspace_ = arena_.view(workspace);
  all_ = {.x = arena_.view(x),
          .h = arena_.view(h),
          .y = arena_.view(y),
          .attended = TensorView(arena_.view(h).data(), {rows(), own, heads * c.head_dim()}, dtype,
                                 weights_->device),
          .qkv = both.slice(0, tokens * qkv_width).reshape({rows(), own, 3, heads, c.head_dim()}),
          .mlp = both.slice(0, tokens * mlp_hidden).reshape({tokens, mlp_hidden}),
          .tokens_out = arena_.view(tokens_out).slice(0, tokens)};
}

Denoiser::Activations Denoiser::part_of(const Activations& all, const MicroBatch& part) const {
  const std::int64_t tokens = tokens_.count();
  const MeshRange& rows = part.rows;
  const std::int64_t count = part.tokens.count(),
                     columns = all.qkv.count() / (all.x.size(0) * tokens);
  const std::int64_t begin = rows.begin * tokens + part.tokens.begin;
  const std::int64_t end = begin + rows.count() * count;
  const auto of_tokens = [&](const TensorView& whole, std::int64_t width) {
    return whole.reshape({all.x.size(0) * tokens, width}).slice(begin, end);
  };
  const auto stream = [&](const TensorView& whole) {
    return of_tokens(whole, config_.hidden).reshape({rows.count(), count, config_.hidden});
  };
  Activations a{.x = stream(all.x),
                .h = stream(all.h),
                .y = stream(all.y),
                .attended = {},
                .qkv = of_tokens(all.qkv, columns)
                           .reshape({rows.count(), count, 3, all.qkv.size(3), all.qkv.size(4)}),
                .mlp = all.mlp.slice(begin, end),
                .tokens_out = all.tokens_out.slice(begin, end)};
  a.attended = TensorView(a.h.data(), {rows.count(), count, all.attended.size(2)}, a.h.dtype(),
                          a.h.device());
  return a;
}

bool Denoiser::shares_stale() const noexcept {
  return knobs_.stale_patches > 1 && groups_->mesh().degree(MeshAxis::kPipeline) > 1;
}

// What goes through the blocks one behind the other.
std::vector<Denoiser::MicroBatch> Denoiser::micro_batches() const {
  const MeshRange whole{0, tokens_.count()};
  std::vector<MicroBatch> parts;
  if (shares_stale() && step_ >= static_cast<std::size_t>(knobs_.stale_warmup_steps)) {
    const int patches = static_cast<int>(std::min(knobs_.stale_patches, tokens_.count()));
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (int i = 0; i < patches; ++i) {
        parts.push_back({{row, row + 1}, split_range(tokens_.count(), patches, i)});
      }
    }
    return parts;
  }
  const int stages = groups_->mesh().degree(MeshAxis::kPipeline);
  std::int64_t count = knobs_.batch_guidance ? 1 : rows() / images_;
  if (stages > 1) {
    count = knobs_.micro_batches > 0 ? knobs_.micro_batches : std::int64_t{kMicroBatches} * stages;
  }
  count = std::min(count, rows());
  for (int i = 0; i < count; ++i) {
    parts.push_back({split_range(rows(), static_cast<int>(count), i), whole});
  }
  return parts;
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
  if (all_finite(values, stream_)) return;
  throw Error("step " + std::to_string(step_) + " (timestep " + std::to_string(timesteps_[step_]) +
              "): the output of " + layer +
              " is not finite; run in a wider precision or look for damaged weights");
}

// An op of the CPU announces how long it may take; one of a GPU is only enqueued.
void Denoiser::tick(const char* op, std::int64_t block, double flops) const {
  auto allowed = kUsualOp;
  if (stream_.device().type == DeviceType::kCpu) {
    allowed += std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * flops / kSlowestFlops));
  }
  pulse_tick(op, block, allowed);
}

void Denoiser::mark_linear(std::int64_t rows, const Linear& layer, PhaseClock& clock) const {
  const std::int64_t in = layer.in_features(), out = layer.out_features();
  const auto element = static_cast<std::int64_t>(size_of(weights_->dtype));
  clock.mark(Phase::kLinear,
             {.flops = 2.0 * static_cast<double>(rows * in * out),
              .bytes = static_cast<double>((rows * (in + out) + in * out) * element),
              .m = rows,
              .n = out,
              .k = in});
}

void Denoiser::linear(ConstTensorView x, const Linear& layer, Activation activation, TensorView y,
                      PhaseClock& clock) {
  const Range range("linear");
  layer.run(x, y, {.activation = activation, .gate = {}, .rows_per_image = 0, .residual = {}},
            workspace_, stream_);
  mark_linear(x.size(0), layer, clock);
}

// Patches of the images, embedded once where the branches share them, plus positions.
void Denoiser::embed(ConstTensorView x, PhaseClock& clock) {
  const Range range("patch");
  const ModelConfig& c = config_;
  tick("x_embedder", -1, 2.0 * static_cast<double>(all_.x.count() * c.patch_values()));
  patchify(x, c.patch, patches_, stream_);
  clock.mark(Phase::kPatch, {.flops = 0.0, .bytes = bytes_of(x) + bytes_of(patches_)});
  if (sequence_) {
    const Shape own{images_, tokens_.count() * c.patch_values()};
    const std::int64_t image = c.tokens() * c.patch_values();
    rearrange(window(ConstTensorView(patches_), tokens_.begin * c.patch_values(), own, {image, 1}),
              own_patches_.reshape(own), stream_);
  }
  const std::int64_t branches = rows() / images_;
  const std::int64_t embedded = knobs_.share_patch_embed ? 1 : branches;
  const auto of_branch = [&](std::int64_t branch) {
    return all_.x.slice(branch * images_, (branch + 1) * images_);
  };
  for (std::int64_t branch = 0; branch < embedded; ++branch) {
    const TensorView out = of_branch(branch);
    weights_->patch.run(own_patches_, flat(out), {}, workspace_, stream_);
    mark_linear(own_patches_.size(0), weights_->patch, clock);
    const ConstTensorView positions = weights_->positions.view().slice(tokens_.begin, tokens_.end);
    add_rows(positions, out, stream_);
    clock.mark(Phase::kPatch, {.flops = 0.0, .bytes = 2 * bytes_of(out) + bytes_of(positions)});
  }
  for (std::int64_t branch = embedded; branch < branches; ++branch) {
    copy(of_branch(0), of_branch(branch), stream_);
    clock.mark(Phase::kPatch, {.flops = 0.0, .bytes = 2 * bytes_of(of_branch(0))});
  }
  look(all_.x, "x_embedder");
}

void Denoiser::gate_norm(ConstTensorView gate, ConstTensorView shift, ConstTensorView scale,
                         double eps, PhaseClock& clock) {
  const Range range("norm");
  if (knobs_.fuse_gate_norm) {
    gate_residual_layer_norm_modulate(a_.y, gate, shift, scale, eps, a_.x, a_.h, stream_);
  } else {
    gate_residual(a_.y, gate, a_.x, stream_);
    layer_norm_modulate(a_.x, shift, scale, eps, a_.h, stream_);
  }
  // Reads y and x, writes x and h; apart, x is read once more.
  clock.mark(Phase::kNorm,
             {.flops = 0.0, .bytes = (knobs_.fuse_gate_norm ? 4 : 5) * bytes_of(a_.x)});
}

// Keys and values of these tokens take the place of the step before's.
void Denoiser::keep_keys(std::size_t i) {
  const std::int64_t width = kept_.size(3), tokens = tokens_.count(), own = a_.qkv.size(1);
  const std::int64_t row = static_cast<std::int64_t>(i) * rows() + first_row_;
  const Shape shape{a_.qkv.size(0), own, width};
  rearrange(
      window(ConstTensorView(a_.qkv), width / 2, shape, {own * 3 * width / 2, 3 * width / 2, 1}),
      window(kept_, (row * tokens + first_token_) * width, shape, {tokens * width, width, 1}),
      stream_);
}

// A patch of one row over all its tokens: fresh ones up to here, the step before's behind.
void Denoiser::attend_stale(std::size_t i) {
  const std::int64_t width = kept_.size(3), tokens = tokens_.count(), own = a_.qkv.size(1);
  const std::int64_t heads = a_.qkv.size(3), head = config_.head_dim();
  const std::int64_t row = static_cast<std::int64_t>(i) * rows() + first_row_;
  const ConstTensorView q = window(ConstTensorView(a_.qkv), 0, {1, own, heads, head},
                                   {own * 3 * width / 2, 3 * width / 2, head, 1});
  const Shape shape{1, tokens, heads, head};
  const Strides strides{tokens * width, width, head, 1};
  const ConstTensorView kept(kept_);
  attention(q, window(kept, row * tokens * width, shape, strides),
            window(kept, row * tokens * width + width / 2, shape, strides),
            1.0 / std::sqrt(static_cast<double>(head)), a_.attended.reshape({1, own, heads, head}),
            {}, workspace_, stream_);
}

void Denoiser::attend(std::size_t i, PhaseClock& clock) {
  const Range range("attention");
  if (shares_stale()) keep_keys(i);
  if (shares_stale() && a_.qkv.size(1) < tokens_.count()) {
    attend_stale(i);
  } else if (sequence_) {
    sequence_->run(a_.qkv, a_.attended, workspace_, stream_);
  } else {
    attention_packed(a_.qkv, a_.attended, workspace_, stream_);
  }
  clock.mark(Phase::kAttention,
             {.flops = 4.0 * static_cast<double>(a_.attended.count() * config_.tokens()),
              .bytes = bytes_of(a_.qkv) + bytes_of(a_.attended)});
}

// y of this rank's part of the columns becomes the sum over the tensor ranks.
void Denoiser::sum_parts(PhaseClock& clock) {
  Communicator* const group = groups_->along(MeshAxis::kTensor);
  if (group == nullptr) return;
  group->all_reduce_sum(a_.y.data(), a_.y.data(), a_.y.count(), a_.y.dtype(), stream_);
  clock.mark(Phase::kExchange);
}

// h holds the block's modulated input; afterwards the next block's (or the final layer's). Where
// another stage goes on, only x is of use.
void Denoiser::block(std::size_t i, PhaseClock& clock) {
  const BlockWeights& w = weights_->blocks[i];
  const std::int64_t count = a_.x.size(0) * a_.x.size(1);
  const auto name = [&](const char* layer) {
    return check_
               ? "blocks." +
                     std::to_string(weights_->shard.layers.begin + static_cast<std::int64_t>(i)) +
                     "." + layer
               : std::string();
  };
  const TensorView attended = a_.attended.reshape({count, a_.attended.size(2)});
  const std::int64_t layer = weights_->shard.layers.begin + static_cast<std::int64_t>(i);
  const auto work = [&](const Linear& linear) {
    return 2.0 * static_cast<double>(count * linear.in_features() * linear.out_features());
  };
  tick("attn.qkv", layer, work(w.qkv));
  linear(flat(a_.h), w.qkv, Activation::kNone, a_.qkv.reshape({count, w.qkv.out_features()}),
         clock);
  look(a_.qkv, name("attn.qkv"));
  tick("attn", layer, 4.0 * static_cast<double>(a_.attended.count() * config_.tokens()));
  attend(i, clock);
  look(a_.attended, name("attn"));
  tick("attn.proj", layer, work(w.proj));
  linear(attended, w.proj, Activation::kNone, flat(a_.y), clock);
  sum_parts(clock);
  look(a_.y, name("attn.proj"));
  gate_norm(part(i, kGate1), part(i, kShift2), part(i, kScale2), second_eps_, clock);
  look(a_.h, name("norm2"));
  tick("mlp.fc1", layer, work(w.fc1));
  linear(flat(a_.h), w.fc1, Activation::kGeluTanh, a_.mlp, clock);
  look(a_.mlp, name("mlp.fc1"));
  tick("mlp.fc2", layer, work(w.fc2));
  linear(a_.mlp, w.fc2, Activation::kNone, flat(a_.y), clock);
  sum_parts(clock);
  look(a_.y, name("mlp.fc2"));
  if (i + 1 == weights_->blocks.size() && !weights_->shard.last_stage) {
    gate_residual(a_.y, part(i, kGate2), a_.x, stream_);
    clock.mark(Phase::kNorm, {.flops = 0.0, .bytes = 3 * bytes_of(a_.x)});
    look(a_.x, name("output"));
    return;
  }
  gate_norm(part(i, kGate2), part(i + 1, kShift1), part(i + 1, kScale1), kNormEps, clock);
  look(a_.h, name("output"));
}

// Transfers between stages are ordered by events on a stream of their own: on a GPU a stage
// computes the next rows while the last ones travel.
void Denoiser::receive_rows(PhaseClock& clock) {
  const DeviceMesh& mesh = groups_->mesh();
  groups_->along(MeshAxis::kPipeline)
      ->recv(a_.x.data(), a_.x.count(), a_.x.dtype(), mesh.index(MeshAxis::kPipeline) - 1,
             transfers_);
  transferred_.record(transfers_);
  transferred_.wait(stream_);
  clock.mark(Phase::kExchange);
}

void Denoiser::send_rows(PhaseClock& clock) {
  const DeviceMesh& mesh = groups_->mesh();
  computed_.record(stream_);
  computed_.wait(transfers_);
  groups_->along(MeshAxis::kPipeline)
      ->send(a_.x.data(), a_.x.count(), a_.x.dtype(), mesh.index(MeshAxis::kPipeline) + 1,
             transfers_);
  clock.mark(Phase::kExchange);
}

// This rank's layers over a_, from and to the neighbouring stages.
void Denoiser::stage(PhaseClock& clock) {
  if (!weights_->shard.first_stage) receive_rows(clock);
  layer_norm_modulate(a_.x, part(0, kShift1), part(0, kScale1), kNormEps, a_.h, stream_);
  clock.mark(Phase::kNorm, {.flops = 0.0, .bytes = 2 * bytes_of(a_.x)});
  for (std::size_t i = 0; i < weights_->blocks.size(); ++i) block(i, clock);
  if (!weights_->shard.last_stage) return send_rows(clock);
  tick("final_layer", -1, 2.0 * static_cast<double>(a_.h.count() * config_.out_values()));
  linear(flat(a_.h), weights_->final_linear, Activation::kNone, a_.tokens_out, clock);
}

// The output of all ranks' tokens, and on every stage.
void Denoiser::assemble(PhaseClock& clock) {
  if (weights_->shard.last_stage) {
    ConstTensorView tokens = all_.tokens_out;
    if (Communicator* const group = groups_->along(MeshAxis::kSequence)) {
      const std::int64_t width = config_.out_values();
      group->all_gather(all_.tokens_out.data(), gathered_.data(), gathered_.size(1) * width,
                        gathered_.dtype(), stream_);
      for (int from = 0; from < group->size(); ++from) {
        const MeshRange range = split_range(config_.tokens(), group->size(), from);
        const Shape shape{rows(), range.count() * width};
        rearrange(window(ConstTensorView(gathered_), from * gathered_.size(1) * width, shape,
                         {range.count() * width, 1}),
                  window(all_tokens_, range.begin * width, shape, {config_.tokens() * width, 1}),
                  stream_);
      }
      tokens = all_tokens_;
      clock.mark(Phase::kExchange);
    }
    unpatchify(tokens, config_.patch, output_, stream_);
    clock.mark(Phase::kPatch, {.flops = 0.0, .bytes = 2 * bytes_of(output_)});
  }
  if (Communicator* const group = groups_->along(MeshAxis::kPipeline)) {
    transferred_.record(transfers_);
    transferred_.wait(stream_);
    group->broadcast(output_.data(), output_.count(), output_.dtype(), group->size() - 1, stream_);
    clock.mark(Phase::kExchange);
  }
}

ConstTensorView Denoiser::run(ConstTensorView x, std::size_t k, PhaseClock& clock, bool check) {
  clock.start_part();
  step_ = k;
  check_ = check;
  look(x, "the step before (latents)");
  if (conditioning_.ensure(k, stream_)) clock.mark(Phase::kPrepare);
  if (weights_->shard.first_stage) embed(x, clock);
  if (groups_->along(MeshAxis::kPipeline) != nullptr) {
    computed_.record(stream_);
    computed_.wait(transfers_);
  }
  for (const MicroBatch& part : micro_batches()) {
    first_row_ = part.rows.begin;
    first_token_ = part.tokens.begin;
    a_ = part_of(all_, part);
    stage(clock);
  }
  assemble(clock);
  look(output_, "final_layer");
  return output_;
}

}  // namespace ditar
