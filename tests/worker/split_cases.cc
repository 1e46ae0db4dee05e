#include "split_cases.h"

#include "ditar/config/philox.h"
#include "ditar/config/safetensors.h"
#include "model_config.h"

#include <cmath>

namespace ditar {

void write_split_model(const std::filesystem::path& path, const SplitModel& sizes) {
  ModelConfig config;
  config.channels = 2;
  config.height = sizes.height;
  config.width = sizes.width;
  config.patch = 1;
  config.hidden = sizes.hidden;
  config.depth = sizes.depth;
  config.heads = sizes.heads;
  config.mlp_hidden = 4 * sizes.hidden;
  config.classes = 3;
  const std::vector<TensorSpec> specs = official_tensors(config);
  std::vector<std::vector<float>> values;
  std::vector<SafetensorsItem> items;
  for (const TensorSpec& spec : specs) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.shape) count *= size;
    std::vector<float>& tensor = values.emplace_back(static_cast<std::size_t>(count));
    philox_normal(7, values.size(), 0, tensor);
    const auto fan_in = static_cast<float>(spec.shape.size() > 1 ? count / spec.shape[0] : 25);
    for (float& value : tensor) value /= std::sqrt(fan_in);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    items.push_back(
        {specs[i].name, StoredType::kF32, specs[i].shape, std::as_bytes(std::span(values[i]))});
  }
  write_safetensors(path, items,
                    {{"heads", std::to_string(sizes.heads)},
                     {"height", std::to_string(sizes.height)},
                     {"width", std::to_string(sizes.width)}});
}

std::vector<float> run_split_job(const std::filesystem::path& model, const SplitJob& job,
                                 Communicator* communicator) {
  EngineOptions options;
  options.model_path = model.string();
  options.knobs_path = job.knobs_path;
  options.precision = job.precision;
  options.device = job.device;
  options.threads = 1;
  if (communicator != nullptr) options.plan = job.plan;
  const auto engine = make_engine(options, communicator);
  RequestSchedule schedule;
  schedule.sampler = job.sampler;
  schedule.timesteps = {900, 500, 100};
  schedule.guidance = job.guidance;
  schedule.noise_seed = 3;
  const RequestShape shape{job.images, 2, job.height, job.width};
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < job.images; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 3));
  }
  std::vector<float> latents(static_cast<std::size_t>(shape.count()));
  philox_normal(11, 0, 0, latents);
  engine->prepare(shape, schedule, labels);
  engine->set_latents(latents);
  for (std::int64_t k = 0; k < 3; ++k) engine->step(k);
  std::vector<float> out(latents.size());
  engine->read_latents(out);
  return out;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a.at(i)) - static_cast<double>(b[i]);
    difference += d * d;
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / size);
}

}  // namespace ditar
