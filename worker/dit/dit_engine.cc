#include "dit_engine.h"

#include "ditar/config/error.h"
#include "ditar/config/philox.h"
#include "ditar/parallel/communicator.h"
#include "image_ops.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

Parity resolve(Parity asked, const std::string& layout) {
  if (asked != Parity::kAuto) return asked;
  return layout == "diffusers" ? Parity::kDiffusers : Parity::kOfficial;
}

}  // namespace

template <typename T>
DitEngine<T>::DitEngine(const Checkpoint& checkpoint, const EngineOptions& options,
                        const Knobs& knobs, Communicator* communicator)
    : options_(options),
      knobs_(knobs),
      layout_(checkpoint.layout()),
      parity_(resolve(options.parity, checkpoint.layout())),
      communicator_(communicator),
      weights_(load_weights<T>(checkpoint, knobs)),
      threads_(options.threads > 0 ? options.threads : omp_get_num_procs()),
      split_(parse_split(options.plan, communicator == nullptr ? 1 : communicator->size())),
      denoiser_(weights_, parity_, knobs, threads_) {
  if (split_.cfg == 2) branch_group_ = communicator_->split(rank() / 2, rank());
  clock_.mark(Phase::kLoad);
  peak_bytes_ = weights_.size_bytes();
  check_memory();
}

template <typename T>
DitEngine<T>::~DitEngine() = default;

template <typename T>
int DitEngine<T>::rank() const {
  return communicator_ == nullptr ? 0 : communicator_->rank();
}

template <typename T>
ModelFacts DitEngine<T>::facts() const {
  const ModelConfig& c = weights_.config;
  ModelFacts facts;
  facts.layout = layout_;
  facts.parity = std::string(to_string(parity_));
  facts.parameters = parameter_count(c);
  facts.channels = c.channels;
  facts.height = c.height;
  facts.width = c.width;
  facts.patch = c.patch;
  facts.hidden = c.hidden;
  facts.depth = c.depth;
  facts.heads = c.heads;
  facts.classes = c.classes;
  facts.learned_variance = c.learned_variance;
  return facts;
}

template <typename T>
void DitEngine<T>::check_request(const RequestShape& shape,
                                 std::span<const std::int32_t> labels) const {
  const ModelConfig& c = weights_.config;
  require(shape.images >= 1, "a request needs at least one image");
  if (shape.channels != c.channels || shape.height != c.height || shape.width != c.width) {
    const auto text = [](std::int64_t channels, std::int64_t h, std::int64_t w) {
      return std::to_string(channels) + "x" + std::to_string(h) + "x" + std::to_string(w);
    };
    throw InvalidArgument("the model makes latents of " + text(c.channels, c.height, c.width) +
                          ", but " + text(shape.channels, shape.height, shape.width) +
                          " was asked; ask for its own size or load a model of that size");
  }
  require(static_cast<std::int64_t>(labels.size()) == shape.images,
          std::to_string(labels.size()) + " labels were given for " + std::to_string(shape.images) +
              " images; give one for each");
  for (const std::int32_t label : labels) {
    require(label >= 0 && label <= c.classes,
            "label " + std::to_string(label) + " is outside 0.." + std::to_string(c.classes) +
                " (" + std::to_string(c.classes) + " is the null class)");
  }
}

template <typename T>
void DitEngine<T>::check_memory() const {
  const std::int64_t cap = options_.memory_cap_bytes;
  if (cap > 0 && planned_bytes() > cap) {
    throw OutOfMemory("the plan \"" + plan() + "\" needs " + std::to_string(planned_bytes()) +
                      " bytes, the cap is " + std::to_string(cap) +
                      "; ask for fewer images or raise the cap");
  }
}

template <typename T>
void DitEngine<T>::prepare(const RequestShape& shape, const RequestSchedule& schedule,
                           std::span<const std::int32_t> labels) {
  clock_.start();
  check_request(shape, labels);
  const bool guided = schedule.guidance != 1.0;
  RequestSchedule visited = schedule;
  if (knobs_.step_stride > 1) {
    std::erase_if(visited.timesteps, [&, i = std::int64_t{0}](std::int32_t) mutable {
      return i++ % knobs_.step_stride != 0;
    });
  }
  // The whole schedule is checked, not only what the stride leaves of it.
  plan_sampler(schedule, weights_.config.learned_variance, parity_);
  sampler_ = plan_sampler(visited, weights_.config.learned_variance, parity_);
  shard_ = shard_of(split_, rank(), shape.images, guided);
  shape_ = shape;
  schedule_ = schedule;
  std::vector<std::int32_t> rows;
  const auto first = labels.begin() + shard_.first_image;
  if (shard_.conditional) rows.assign(first, first + shard_.images);
  const auto null_class = static_cast<std::int32_t>(weights_.config.classes);
  if (shard_.unconditional)
    rows.insert(rows.end(), static_cast<std::size_t>(shard_.images), null_class);
  denoiser_.prepare(shard_.images, std::move(rows), visited.timesteps);
  const auto own = static_cast<std::size_t>(shard_.images * each());
  x_.assign(own, T(0));
  start_.assign(own, T(0));
  eps_.resize(own);
  history_.assign(sampler_.keeps_history ? own : 0, T(0));
  noise_.resize(sampler_.draws_noise ? own : 0);
  const std::int64_t out_values =
      shard_.images * each() / shape.channels * weights_.config.out_channels();
  branches_.resize(split_.cfg == 2 ? static_cast<std::size_t>(2 * out_values) : 0);
  staging_.resize(own);
  injected_.clear();
  check_memory();
  peak_bytes_ = std::max(peak_bytes_, planned_bytes());
  clock_.mark(Phase::kPrepare);
}

template <typename T>
void DitEngine<T>::inject_noise(std::vector<float> noise) {
  require(noise.size() == sampler_.steps.size() * static_cast<std::size_t>(shape_.count()),
          "inject_noise: give steps * images * channels * height * width values");
  injected_ = std::move(noise);
}

template <typename T>
void DitEngine<T>::set_latents(std::span<const float> latents) {
  require(shape_.images > 0, "set_latents before prepare; call prepare first");
  require(rank() != 0 || static_cast<std::int64_t>(latents.size()) == shape_.count(),
          "set_latents: " + std::to_string(latents.size()) + " values were given where " +
              std::to_string(shape_.count()) + " are needed");
  clock_.start();
  if (rank() == 0) {
    std::copy_n(latents.begin(), staging_.size(), staging_.begin());
    for (int peer = 1; peer < split_.ranks(); ++peer) {
      const Shard shard = shard_of(split_, peer, shape_.images, schedule_.guidance != 1.0);
      communicator_->send(latents.data() + shard.first_image * each(), shard.images * each(),
                          DType::kF32, peer, StreamView{});
    }
  } else {
    communicator_->recv(staging_.data(), static_cast<std::int64_t>(staging_.size()), DType::kF32, 0,
                        StreamView{});
  }
  std::copy(staging_.begin(), staging_.end(), x_.begin());
  start_ = x_;
  std::fill(history_.begin(), history_.end(), T(0));
  clock_.mark(Phase::kExchange);
}

// Fills eps_ (guided) and cond_ for step k.
template <typename T>
void DitEngine<T>::predict(std::size_t k, bool check) {
  const ModelConfig& c = weights_.config;
  const T* output = denoiser_.run(x_.data(), k, clock_, check);
  const std::int64_t branch = shard_.images * c.out_channels() * c.height * c.width;
  if (split_.cfg == 2) {
    branch_group_->all_gather(output, branches_.data(), branch, dtype_of<T>, StreamView{});
    clock_.mark(Phase::kExchange);
    output = branches_.data();
  }
  const bool guided = schedule_.guidance != 1.0;
  const std::int64_t channels = schedule_.guided_channels == 0
                                    ? c.channels
                                    : std::min<std::int64_t>(schedule_.guided_channels, c.channels);
  guide(output, guided ? output + branch : nullptr, shard_.images, c, schedule_.guidance, channels,
        eps_.data());
  cond_ = output;
}

template <typename T>
const float* DitEngine<T>::noise_for(std::size_t k) {
  if (!sampler_.draws_noise || k + 1 == sampler_.steps.size()) return nullptr;
  if (!injected_.empty()) {
    return injected_.data() + static_cast<std::int64_t>(k) * shape_.count() +
           shard_.first_image * each();
  }
  for (std::int64_t n = 0; n < shard_.images; ++n) {
    const auto own = std::span<float>(noise_).subspan(static_cast<std::size_t>(n * each()),
                                                      static_cast<std::size_t>(each()));
    philox_normal(schedule_.noise_seed, static_cast<std::uint64_t>(shard_.first_image + n),
                  static_cast<std::uint32_t>(k + 1), own);
  }
  return noise_.data();
}

template <typename T>
void DitEngine<T>::advance(std::size_t k, bool check) {
  if (k % static_cast<std::size_t>(knobs_.step_cache_interval) == 0) predict(k, check);
  clock_.start();
  sampler_update(sampler_, k, shard_.images, weights_.config, eps_.data(), cond_, noise_for(k),
                 history_.empty() ? nullptr : history_.data(), x_.data());
  clock_.mark(Phase::kSampler);
}

template <typename T>
void DitEngine<T>::step(std::int64_t k) {
  require(k >= 0 && k < static_cast<std::int64_t>(schedule_.timesteps.size()),
          "step " + std::to_string(k) + " is outside the prepared schedule of " +
              std::to_string(schedule_.timesteps.size()) + " steps");
  if (k % knobs_.step_stride != 0) return;
  advance(static_cast<std::size_t>(k / knobs_.step_stride), false);
}

// The request is deterministic, so it is run again with every layer looked at.
template <typename T>
void DitEngine<T>::explain_not_finite() {
  x_ = start_;
  std::fill(history_.begin(), history_.end(), T(0));
  for (std::size_t k = 0; k < sampler_.steps.size(); ++k) advance(k, true);
  throw Error("the result is not finite after the last sampler step; check the starting latents");
}

template <typename T>
void DitEngine<T>::read_latents(std::span<float> out) {
  require(rank() != 0 || static_cast<std::int64_t>(out.size()) == shape_.count(),
          "read_latents: the destination has " + std::to_string(out.size()) + " values where " +
              std::to_string(shape_.count()) + " are needed");
  clock_.start();
  bool finite = true;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    staging_[i] = static_cast<float>(x_[i]);
    finite = finite && std::isfinite(staging_[i]);
  }
  if (!finite && split_.ranks() == 1) explain_not_finite();
  const auto leader = [&](int peer) { return peer % split_.cfg == 0; };
  if (rank() != 0) {
    if (leader(rank())) {
      communicator_->send(staging_.data(), static_cast<std::int64_t>(staging_.size()), DType::kF32,
                          0, StreamView{});
    }
  } else {
    std::copy(staging_.begin(), staging_.end(), out.begin());
    for (int peer = 1; peer < split_.ranks(); ++peer) {
      if (!leader(peer)) continue;
      const Shard shard = shard_of(split_, peer, shape_.images, schedule_.guidance != 1.0);
      communicator_->recv(out.data() + shard.first_image * each(), shard.images * each(),
                          DType::kF32, peer, StreamView{});
    }
  }
  clock_.mark(Phase::kExchange);
  if (!finite) explain_not_finite();
}

template <typename T>
std::int64_t DitEngine<T>::planned_bytes() const {
  const std::size_t values =
      start_.size() + x_.size() + eps_.size() + history_.size() + branches_.size();
  const std::size_t floats = staging_.size() + noise_.size() + injected_.size();
  return weights_.size_bytes() + denoiser_.workspace_bytes() +
         static_cast<std::int64_t>(values * sizeof(T) + floats * sizeof(float));
}

template <typename T>
std::string DitEngine<T>::knobs_json() const {
  std::string text = to_json(knobs_);
  text.pop_back();
  return text + ",\"precision\":\"" + std::string(to_string(options_.precision)) +
         "\",\"parity\":\"" + std::string(to_string(parity_)) + "\",\"instructions\":\"" +
         dense_ops<T>().name + "\",\"threads\":" + std::to_string(threads_) + ",\"plan\":\"" +
         plan() + "\"}";
}

template class DitEngine<float>;
template class DitEngine<double>;

}  // namespace ditar
