#include "dit_engine.h"

#include "ditar/config/error.h"
#include "ditar/kernels/cpu_threads.h"
#include "ditar/kernels/ops/sampler.h"
#include "ditar/kernels/range.h"
#include "ditar/parallel/agreement.h"
#include "ditar/parallel/communicator.h"
#include "ditar/parallel/nccl.h"
#include "ditar/parallel/pulse.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

namespace ditar {
namespace {

Parity resolve(Parity asked, const std::string& layout) {
  if (asked != Parity::kAuto) return asked;
  return layout == "diffusers" ? Parity::kDiffusers : Parity::kOfficial;
}

DType dtype_for(Precision precision, Device device) {
  const bool wide = precision == Precision::kF64 || precision == Precision::kF32;
  if (device.type == DeviceType::kCpu && !wide) {
    throw InvalidArgument("precision " + std::string(to_string(precision)) +
                          " is not available on the cpu; give fp32 or fp64");
  }
  switch (precision) {
    case Precision::kF64:
      return DType::kF64;
    case Precision::kF16:
      return DType::kF16;
    case Precision::kBF16:
      return DType::kBF16;
    default:
      return DType::kF32;
  }
}

int thread_count(int asked) {
  const int found = static_cast<int>(std::thread::hardware_concurrency());  // of the cpuset
  return asked > 0 ? asked : std::max(found, 1);
}

/// The plan in force, checked against ranks and model before anything is loaded.
Plan choose_plan(const EngineOptions& options, const Knobs& knobs, const ModelConfig& config,
                 Communicator* communicator) {
  const int ranks = communicator == nullptr ? 1 : communicator->size();
  const int rank = communicator == nullptr ? 0 : communicator->rank();
  const bool given = !options.plan.empty() || ranks == 1;
  const Plan plan = parse_split(given ? options.plan : knobs.split, ranks);
  if (communicator != nullptr) {
    const auto numbers = [](std::initializer_list<std::int64_t> list) {
      std::string text;
      for (const std::int64_t number : list)
        text += (text.empty() ? "" : " ") + std::to_string(number);
      return text;
    };
    const ModelConfig& c = config;
    require_agreement(
        *communicator,
        {{"engine version", DITAR_ENGINE_VERSION},
         {"NCCL", nccl_library()},
         {"plan", format_plan(plan)},
         {"kind of device", parse_device(options.device).type == DeviceType::kCpu ? "cpu" : "cuda"},
         {"precision", std::string(to_string(options.precision))},
         {"parity", std::string(to_string(options.parity))},
         {"knobs", to_json(knobs)},
         {"model (channels, height, width, patch, hidden, layers, heads, MLP, classes)",
          numbers({c.channels, c.height, c.width, c.patch, c.hidden, c.depth, c.heads, c.mlp_hidden,
                   c.classes})}});
  }
  DeviceMesh(plan, ranks, rank)
      .check_model({.heads = config.heads,
                    .mlp_hidden = config.mlp_hidden,
                    .depth = config.depth,
                    .tokens = config.tokens()});
  return plan;
}

}  // namespace

DitEngine::DitEngine(const Checkpoint& checkpoint, const EngineOptions& options, const Knobs& knobs,
                     Communicator* communicator)
    : options_(options),
      knobs_(knobs),
      layout_(checkpoint.layout()),
      device_(parse_device(options.device)),
      dtype_(dtype_for(options.precision, device_)),
      parity_(resolve(options.parity, checkpoint.layout())),
      threads_(thread_count(options.threads)),
      communicator_(communicator),
      stream_(device_),
      clock_(on_host()),
      groups_(choose_plan(options, knobs, checkpoint.config(), communicator), communicator,
              device_),
      weights_(load_weights(checkpoint, knobs, dtype_, stream_,
                            options.precision == Precision::kTf32,
                            weight_shard(mesh(), checkpoint.config().depth))),
      denoiser_(weights_, parity_, knobs, stream_, &groups_),
      arena_(device_) {
  clock_.mark(Phase::kLoad);
  peak_bytes_ = weights_.size_bytes();
  check_memory();
}

DitEngine::~DitEngine() = default;

ModelFacts DitEngine::facts() const {
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

void DitEngine::check_request(const RequestShape& shape,
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

// Before every request, since a rank with another one would hang the rest: 8 bytes are exchanged.
void DitEngine::agree_on(const RequestShape& shape, const RequestSchedule& schedule,
                         std::span<const std::int32_t> labels) const {
  const auto join = [](std::span<const std::int32_t> numbers) {
    std::string text;
    for (const std::int32_t number : numbers) text += std::to_string(number) + " ";
    return text;
  };
  require_agreement(*communicator_,
                    {{"images, channels, height, width",
                      std::to_string(shape.images) + " " + std::to_string(shape.channels) + " " +
                          std::to_string(shape.height) + " " + std::to_string(shape.width)},
                     {"sampler", std::string(to_string(schedule.sampler))},
                     {"timesteps", join(schedule.timesteps)},
                     {"guidance", std::to_string(schedule.guidance)},
                     {"guided channels", std::to_string(schedule.guided_channels)},
                     {"eta", std::to_string(schedule.eta)},
                     {"noise seed", std::to_string(schedule.noise_seed)},
                     {"labels", join(labels)}});
}

void DitEngine::check_memory() const {
  const std::int64_t cap = options_.memory_cap_bytes;
  if (cap > 0 && planned_bytes() > cap) {
    throw OutOfMemory("the plan \"" + plan() + "\" needs " + std::to_string(planned_bytes()) +
                      " bytes, the cap is " + std::to_string(cap) +
                      "; ask for fewer images or raise the cap");
  }
}

void DitEngine::prepare(const RequestShape& shape, const RequestSchedule& schedule,
                        std::span<const std::int32_t> labels) {
  const Range range("prepare");
  set_cpu_threads(threads_);
  clock_.start();
  if (communicator_ != nullptr) agree_on(shape, schedule, labels);
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
  mesh().check_request(shape.images, guided);
  shard_ = shard_of(mesh(), rank(), shape.images, guided);
  shape_ = shape;
  schedule_ = schedule;
  std::vector<std::int32_t> rows;
  const auto first = labels.begin() + shard_.first_image;
  if (shard_.conditional) rows.assign(first, first + shard_.images);
  const auto null_class = static_cast<std::int32_t>(weights_.config.classes);
  if (shard_.unconditional)
    rows.insert(rows.end(), static_cast<std::size_t>(shard_.images), null_class);
  const bool alike =
      std::adjacent_find(rows.begin(), rows.end(), std::not_equal_to<>()) == rows.end();
  std::vector<Graph> former = std::move(graphs_);  // a failure below leaves none
  graphs_.clear();
  denoiser_.prepare(shard_.images, std::move(rows), visited.timesteps);
  plan_latents();
  injected_.clear();
  check_memory();
  peak_bytes_ = std::max(peak_bytes_, planned_bytes());
  while (!on_host() && marks_.size() < sampler_.steps.size()) marks_.emplace_back(device_);
  record_steps(std::move(former), alike);
  clock_.mark(Phase::kPrepare);
}

void DitEngine::plan_latents() {
  const ModelConfig& c = weights_.config;
  const Shape own{shard_.images, c.channels, c.height, c.width};
  const Shape none{0, c.channels, c.height, c.width};
  const Shape branches{mesh().plan().cfg == 2 ? 2 * shard_.images : 0, c.out_channels(), c.height,
                       c.width};
  image_ids_.clear();
  for (std::int64_t i = 0; i < shard_.images; ++i) {
    image_ids_.push_back(static_cast<std::uint64_t>(shard_.first_image + i));
  }
  const bool guided = schedule_.guidance != 1.0;
  arena_.clear();
  const std::size_t start = arena_.add(own, dtype_);
  const std::size_t x = arena_.add(own, dtype_);
  const std::size_t next = arena_.add(sampler_.keeps_history ? own : none, dtype_);
  const std::size_t history = arena_.add(sampler_.keeps_history ? own : none, dtype_);
  const std::size_t guidance = arena_.add(guided ? own : none, dtype_);
  const std::size_t noise = arena_.add(sampler_.draws_noise ? own : none, dtype_);
  const std::size_t both = arena_.add(branches, dtype_);
  const std::size_t staged = arena_.add(on_host() ? none : own, DType::kF32);
  arena_.allocate();
  start_ = arena_.view(start);
  x_ = arena_.view(x);
  next_ = arena_.view(next);
  history_ = arena_.view(history);
  guided_ = arena_.view(guidance);
  noise_ = arena_.view(noise);
  branches_ = arena_.view(both);
  staged_ = arena_.view(staged);
  if (staging_.shape() != own) {
    staging_ = Tensor(own, DType::kF32, on_host() ? default_resource(Device{}) : pinned_resource());
  }
  for (const TensorView& latents : {start_, x_}) {
    fill_bytes(latents.data(), device_, 0, latents.size_bytes(), stream_);
  }
}

void DitEngine::upload(const float* values, TensorView latents) {
  const ConstTensorView host(values, latents.shape(), DType::kF32, Device{});
  if (on_host()) return convert(host, latents, stream_);
  copy(host, staged_, stream_);
  convert(staged_, latents, stream_);
}

void DitEngine::download(ConstTensorView latents, float* values) {
  const TensorView host(values, latents.shape(), DType::kF32, Device{});
  if (on_host()) return convert(latents, host, stream_);
  convert(latents, staged_, stream_);
  copy(staged_, host, stream_);
  stream_.view().synchronize();
}

// The first and the last step run once before recording, so that libraries load what they load at
// first use. A request that differs in labels or latents alone is served by the graphs there are.
void DitEngine::record_steps(std::vector<Graph> former, bool labels_alike) {
  if (!knobs_.graph_capture || !Graph::supported(device_) || !groups_.capturable()) return;
  Recorded wanted{shape_, schedule_, labels_alike};
  if (!sampler_.draws_noise) wanted.schedule.noise_seed = 0;
  if (!former.empty() && wanted == recorded_) {
    graphs_ = std::move(former);
    return;
  }
  const std::size_t steps = sampler_.steps.size();
  advance(0, false);
  advance(steps - 1, false);
  denoiser_.forget_modulations();
  std::vector<Graph> graphs;
  for (std::size_t k = 0; k < steps; ++k) {
    graphs.emplace_back(stream_, [&] { advance(k, false); });
  }
  graphs_ = std::move(graphs);
  recorded_ = std::move(wanted);
}

void DitEngine::inject_noise(std::vector<float> noise) {
  require(noise.size() == sampler_.steps.size() * static_cast<std::size_t>(shape_.count()),
          "inject_noise: give steps * images * channels * height * width values");
  injected_ = std::move(noise);
  denoiser_.forget_modulations();
}

void DitEngine::set_latents(std::span<const float> latents) {
  const Range range("set latents");
  require(shape_.images > 0, "set_latents before prepare; call prepare first");
  require(rank() != 0 || static_cast<std::int64_t>(latents.size()) == shape_.count(),
          "set_latents: " + std::to_string(latents.size()) + " values were given where " +
              std::to_string(shape_.count()) + " are needed");
  clock_.start();
  float* own = staging_.as<float>();
  if (rank() == 0) {
    std::copy_n(latents.begin(), staging_.shape().count(), own);
    for (int peer = 1; peer < mesh().size(); ++peer) {
      const Shard shard = shard_of(mesh(), peer, shape_.images, schedule_.guidance != 1.0);
      communicator_->send(latents.data() + shard.first_image * each(), shard.images * each(),
                          DType::kF32, peer, StreamView{});
    }
  } else {
    communicator_->recv(own, staging_.shape().count(), DType::kF32, 0, StreamView{});
  }
  if (mesh().size() > 1) clock_.mark(Phase::kExchange);
  upload(own, x_);
  copy(x_, start_, stream_);
  clock_.mark(Phase::kTransfer, {.flops = 0.0, .bytes = static_cast<double>(x_.count()) * 4.0});
}

// The outputs of both branches, the conditional one first.
ConstTensorView DitEngine::gather_branches(ConstTensorView output) {
  Communicator* const group = groups_.along(MeshAxis::kCfg);
  if (group == nullptr) return output;
  group->all_gather(output.data(), branches_.data(), output.count(), dtype_, stream_);
  clock_.mark(Phase::kExchange);
  return branches_;
}

// Sets eps_ (guided) and cond_ for step k; they live until the next prediction.
void DitEngine::predict(std::size_t k, bool check) {
  const ConstTensorView output = gather_branches(denoiser_.run(x_, k, clock_, check));
  cond_ = output.slice(0, shard_.images);
  eps_ = cond_;
  if (schedule_.guidance == 1.0) return;
  const std::int64_t channels =
      std::min<std::int64_t>(schedule_.guided_channels, weights_.config.channels);
  guidance_combine(cond_, output.slice(shard_.images, 2 * shard_.images), schedule_.guidance,
                   channels, guided_, stream_);
  eps_ = guided_;
}

// Noise of step k, or an empty view where it takes none.
ConstTensorView DitEngine::noise_for(std::size_t k) {
  if (!sampler_.draws_noise || k + 1 == sampler_.steps.size()) return {};
  if (injected_.empty()) {
    fill_noise(schedule_.noise_seed, image_ids_, static_cast<std::uint32_t>(k + 1), noise_,
               stream_);
  } else {
    upload(injected_.data() + static_cast<std::int64_t>(k) * shape_.count() +
               shard_.first_image * each(),
           noise_);
    stream_.view().synchronize();
  }
  return noise_;
}

void DitEngine::update(std::size_t k) {
  const SamplerStep& step = sampler_.steps[k];
  const ConstTensorView noise = noise_for(k);
  const bool learned = sampler_.variance == VarianceKind::kLearnedRange && !noise.empty();
  const AffineStep move{.a = step.keep,
                        .b = step.eps_scale,
                        .c = step.history,
                        .s = learned || noise.empty() ? 0.0 : step.noise_scale};
  if (!sampler_.keeps_history) {
    sampler_update(move, x_, eps_, {}, noise, x_, stream_);
    if (learned) add_learned_noise(cond_, step.min_log, step.max_log, noise, x_, stream_);
    return;
  }
  sampler_update(move, x_, eps_, history_, noise, next_, stream_);
  sampler_update({.a = step.x0_keep, .b = step.x0_eps, .c = 0.0, .s = 0.0}, x_, eps_, {}, {},
                 history_, stream_);
  copy(next_, x_, stream_);
}

void DitEngine::advance(std::size_t k, bool check) {
  clock_.start_part();
  if (k % static_cast<std::size_t>(knobs_.step_cache_interval) == 0) predict(k, check);
  const Range range("sampler");
  pulse_tick("sampler");
  update(k);
  // Guidance reads two outputs and writes one; the update reads that and the latents, writes them.
  const double latents = static_cast<double>(x_.size_bytes());
  clock_.mark(Phase::kSampler,
              {.flops = 0.0, .bytes = (schedule_.guidance == 1.0 ? 3.0 : 6.0) * latents});
}

void DitEngine::step(std::int64_t k) {
  const Range range("step");
  require(k >= 0 && k < static_cast<std::int64_t>(schedule_.timesteps.size()),
          "step " + std::to_string(k) + " is outside the prepared schedule of " +
              std::to_string(schedule_.timesteps.size()) + " steps");
  if (k % knobs_.step_stride != 0) return;
  const auto index = static_cast<std::size_t>(k / knobs_.step_stride);
  pulse_tick("enqueueing a step");
  if (!graphs_.empty() && injected_.empty()) {
    graphs_[index].launch(stream_);
  } else {
    set_cpu_threads(threads_);
    advance(index, false);
  }
  if (!on_host()) marks_[index].record(stream_);
}

// A step of a GPU may take ten times as long as the longest before it.
void DitEngine::finish_steps() {
  using namespace std::chrono;
  milliseconds allowed{30'000};
  for (std::size_t k = 0; !on_host() && k < sampler_.steps.size(); ++k) {
    pulse_step(static_cast<std::int64_t>(k));
    pulse_tick("the GPU's work", -1, allowed);
    const auto start = steady_clock::now();
    while (!marks_[k].reached()) std::this_thread::yield();
    const auto took = duration_cast<milliseconds>(steady_clock::now() - start);
    allowed = std::max({k == 0 ? kUsualOp : allowed, kUsualOp, 10 * took});
  }
  stream_.view().synchronize();
}

// The request is deterministic, so it is run again with every layer looked at.
void DitEngine::explain_not_finite() {
  denoiser_.forget_modulations();
  copy(start_, x_, stream_);
  for (std::size_t k = 0; k < sampler_.steps.size(); ++k) advance(k, true);
  throw Error("the result is not finite after the last sampler step; check the starting latents");
}

// Every group's leader sends its images to rank 0.
void DitEngine::collect(std::span<float> out) {
  const float* own = staging_.as<float>();
  const std::int64_t count = staging_.shape().count();
  if (rank() != 0) {
    if (leads_images(mesh(), rank())) communicator_->send(own, count, DType::kF32, 0, StreamView{});
    return;
  }
  std::copy_n(own, count, out.begin());
  for (int peer = 1; peer < mesh().size(); ++peer) {
    if (!leads_images(mesh(), peer)) continue;
    const Shard shard = shard_of(mesh(), peer, shape_.images, schedule_.guidance != 1.0);
    communicator_->recv(out.data() + shard.first_image * each(), shard.images * each(), DType::kF32,
                        peer, StreamView{});
  }
}

void DitEngine::read_latents(std::span<float> out) {
  const Range range("read latents");
  require(shape_.images > 0, "read_latents before prepare; call prepare first");
  require(rank() != 0 || static_cast<std::int64_t>(out.size()) == shape_.count(),
          "read_latents: the destination has " + std::to_string(out.size()) + " values where " +
              std::to_string(shape_.count()) + " are needed");
  set_cpu_threads(threads_);
  finish_steps();
  pulse_tick("handing in the result");
  clock_.mark(Phase::kDenoise);
  clock_.start();
  float* own = staging_.as<float>();
  download(x_, own);
  clock_.mark(Phase::kTransfer, {.flops = 0.0, .bytes = static_cast<double>(x_.count()) * 4.0});
  const bool finite =
      std::all_of(own, own + staging_.shape().count(), [](float v) { return std::isfinite(v); });
  if (!finite && mesh().size() == 1) explain_not_finite();
  collect(out);
  clock_.mark(mesh().size() > 1 ? Phase::kExchange : Phase::kTransfer);
  if (!finite) explain_not_finite();
}

std::int64_t DitEngine::planned_bytes() const {
  const std::int64_t host =
      shape_.images == 0 ? 0 : static_cast<std::int64_t>(staging_.view().size_bytes());
  return weights_.size_bytes() + denoiser_.workspace_bytes() + arena_.planned_bytes() +
         (on_host() ? host : 0);
}

std::string DitEngine::knobs_json() const {
  std::string text = to_json(knobs_);
  text.pop_back();
  return text + ",\"precision\":\"" + std::string(to_string(options_.precision)) +
         "\",\"parity\":\"" + std::string(to_string(parity_)) + "\",\"instructions\":\"" +
         (on_host() ? cpu_instructions() : "cuda") + "\",\"threads\":" + std::to_string(threads_) +
         ",\"plan\":\"" + plan() + "\"}";
}

}  // namespace ditar
