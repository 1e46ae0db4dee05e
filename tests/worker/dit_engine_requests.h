// Requests to a small committed model (hd72: 4x8x8 latents, 10 classes) through the engine's face.
#pragma once

#include "ditar/config/safetensors.h"
#include "ditar/worker/engine.h"
#include "test_paths.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ditar {

inline std::string model(const char* name) {
  return std::string(DITAR_SOURCE_DIR) + "/tests/golden/data/" + name;
}

inline std::vector<float> latents(std::int64_t images) {
  const SafetensorsFile file(model("hd72.golden.safetensors"));
  const std::vector<float> some = read_f32(file.at("forward.x"));  // 4 images of 4x8x8
  std::vector<float> out;
  for (std::int64_t i = 0; i < images * 256; ++i) {
    out.push_back(some[static_cast<std::size_t>(i % 1024)] + 0.01f * static_cast<float>(i / 1024));
  }
  return out;
}

struct Request {
  std::int64_t images = 3;
  SamplerKind sampler = SamplerKind::kDdim;
  double guidance = 1.5;
  std::uint64_t seed = 5;
  std::int64_t first = 0;  ///< of the latents
};

inline std::vector<float> generate(Engine& engine, const Request& request) {
  RequestSchedule schedule;
  schedule.sampler = request.sampler;
  schedule.timesteps = {999, 600, 200, 0};
  schedule.guidance = request.guidance;
  schedule.noise_seed = request.seed;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < request.images; ++i) {
    labels.push_back(static_cast<std::int32_t>((request.first + i) % 10));
  }
  engine.prepare({request.images, 4, 8, 8}, schedule, labels);
  const std::vector<float> start = latents(request.first + request.images);
  engine.set_latents(
      std::span<const float>(start).subspan(static_cast<std::size_t>(request.first) * 256));
  for (std::int64_t k = 0; k < 4; ++k) engine.step(k);
  std::vector<float> out(static_cast<std::size_t>(request.images) * 256);
  engine.read_latents(out);
  return out;
}

inline std::unique_ptr<Engine> load(const EngineOptions& base = {},
                                    Communicator* communicator = nullptr) {
  EngineOptions options = base;
  if (options.model_path.empty()) options.model_path = model("hd72.safetensors");
  if (options.threads == 0) options.threads = 1;
  return make_engine(options, communicator);
}

/// Writes the small model with one value of blocks.1.mlp.fc1.bias not a number.
inline void write_poisoned_model(const std::string& path) {
  const SafetensorsFile file(model("hd72.safetensors"));
  std::map<std::string, std::vector<float>> values;
  std::vector<SafetensorsItem> items;
  for (const SafetensorsEntry& entry : file.entries()) {
    std::vector<float>& v = values[entry.name] = read_f32(entry);
    if (entry.name == "blocks.1.mlp.fc1.bias") v[3] = std::numeric_limits<float>::quiet_NaN();
    items.push_back(
        {entry.name, StoredType::kF32, entry.shape, std::as_bytes(std::span<const float>(v))});
  }
  write_safetensors(path, items, file.metadata());
}

inline std::vector<float> single(const Request& request, Precision precision = Precision::kF32) {
  EngineOptions options;
  options.precision = precision;
  return generate(*load(options), request);
}

}  // namespace ditar
