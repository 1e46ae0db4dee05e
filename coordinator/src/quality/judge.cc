#include "ditar/coordinator/quality/judge.h"

#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"

#include <algorithm>
#include <array>
#include <string>

namespace ditar {
namespace {

std::vector<float> read_tensor(const SafetensorsFile& file, const std::string& key,
                               std::vector<std::int64_t> shape) {
  return read_f32(file.at(key, shape));
}

RealReference read_reference(const SafetensorsFile& file, std::size_t size) {
  RealReference reference;
  reference.feature_size = size;
  const auto n = static_cast<std::int64_t>(size);
  reference.mean = read_f64(file.at("reference.mu", std::vector<std::int64_t>{n}));
  reference.covariance = read_f64(file.at("reference.cov", std::vector<std::int64_t>{n, n}));
  if (const SafetensorsEntry* entry = file.find("reference.features")) {
    if (entry->shape.size() != 2 || entry->shape[1] != n) {
      throw DataError(file.path().string() + ": reference.features has shape " +
                      shape_text(entry->shape) + ", expected [n, " + std::to_string(n) + "]");
    }
    reference.count = static_cast<std::size_t>(entry->shape[0]);
    reference.features = read_f32(*entry);
  }
  return reference;
}

void relu(std::span<float> values) {
  // NaN stays NaN: a broken image must not turn into a plausible one.
  for (float& x : values) x = x < 0.0F ? 0.0F : x;
}

}  // namespace

Judge::Judge(const std::filesystem::path& weights) {
  const SafetensorsFile file(weights);
  constexpr std::array<std::int64_t, 4> kChannels = {1, 16, 32, 64};
  std::size_t side = kSide;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string key = "conv" + std::to_string(i + 1);
    Convolution layer;
    layer.in = static_cast<std::size_t>(kChannels[i]);
    layer.out = static_cast<std::size_t>(kChannels[i + 1]);
    layer.side = side;
    layer.weight = read_tensor(file, key + ".weight", {kChannels[i + 1], kChannels[i], 3, 3});
    layer.bias = read_tensor(file, key + ".bias", {kChannels[i + 1]});
    side = (side + 1) / 2;
    convolutions_.push_back(std::move(layer));
  }
  fc1_ = {1024, 64, read_tensor(file, "fc1.weight", {64, 1024}),
          read_tensor(file, "fc1.bias", {64})};
  fc2_ = {64, 10, read_tensor(file, "fc2.weight", {10, 64}), read_tensor(file, "fc2.bias", {10})};
  reference_ = read_reference(file, fc1_.out);
}

void Judge::apply(const Convolution& layer, std::span<const float> in, std::span<float> out) {
  const std::size_t side = layer.side, half = (side + 1) / 2;
  for (std::size_t o = 0; o < layer.out; ++o) {
    for (std::size_t y = 0; y < half; ++y) {
      for (std::size_t x = 0; x < half; ++x) {
        float sum = layer.bias[o];
        for (std::size_t c = 0; c < layer.in; ++c) {
          const float* plane = in.data() + c * side * side;
          const float* kernel = layer.weight.data() + (o * layer.in + c) * 9;
          // Padding 1: input row 2y + ky - 1, kept in unsigned arithmetic by the offset of one.
          for (std::size_t ky = 0; ky < 3; ++ky) {
            const std::size_t row = 2 * y + ky;
            if (row < 1 || row > side) continue;
            for (std::size_t kx = 0; kx < 3; ++kx) {
              const std::size_t column = 2 * x + kx;
              if (column < 1 || column > side) continue;
              sum += kernel[ky * 3 + kx] * plane[(row - 1) * side + column - 1];
            }
          }
        }
        out[(o * half + y) * half + x] = sum;
      }
    }
  }
}

void Judge::apply(const Linear& layer, std::span<const float> in, std::span<float> out) {
  for (std::size_t o = 0; o < layer.out; ++o) {
    float sum = layer.bias[o];
    const float* row = layer.weight.data() + o * layer.in;
    for (std::size_t i = 0; i < layer.in; ++i) sum += row[i] * in[i];
    out[o] = sum;
  }
}

ScoredSet Judge::score(std::span<const float> images, std::span<const std::int32_t> labels) const {
  require(images.size() == labels.size() * kPixels,
          "judge: pixels are not one 28 x 28 image per label");
  ScoredSet set;
  set.count = labels.size();
  set.feature_size = fc1_.out;
  set.classes = fc2_.out;
  set.labels.assign(labels.begin(), labels.end());
  for (const std::int32_t label : labels) {
    require(label >= 0 && static_cast<std::size_t>(label) < set.classes,
            "judge: label " + std::to_string(label) + " is not one of its classes");
  }
  set.features.resize(set.count * set.feature_size);
  set.logits.resize(set.count * set.classes);
  std::vector<float> front(16 * 14 * 14), back(16 * 14 * 14);
  for (std::size_t i = 0; i < set.count; ++i) {
    apply(convolutions_[0], images.subspan(i * kPixels, kPixels), front);
    relu(front);
    apply(convolutions_[1], front, back);
    relu(back);
    apply(convolutions_[2], back, front);
    relu(front);
    const std::span<float> features(set.features.data() + i * set.feature_size, set.feature_size);
    apply(fc1_, front, features);
    relu(features);
    apply(fc2_, features, std::span<float>(set.logits).subspan(i * set.classes, set.classes));
  }
  return set;
}

}  // namespace ditar
