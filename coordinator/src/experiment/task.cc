#include "ditar/coordinator/task.h"

#include "ditar/config/error.h"
#include "ditar/config/philox.h"

#include <charconv>
#include <cmath>

namespace ditar {
namespace {

constexpr int kTrainingSteps = 1000;

int parse_class(std::string_view part, const std::string& text, int classes) {
  int value = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc{} || end != part.data() + part.size() || value < 0 || value >= classes) {
    throw InvalidArgument("labels '" + text + "': '" + std::string(part) +
                          "' is not a class; use numbers from 0 to " + std::to_string(classes - 1) +
                          ", e.g. 0-9 or 3,3,7");
  }
  return value;
}

}  // namespace

std::vector<std::int32_t> timesteps_for(const std::string& sampler, int steps) {
  require(steps >= 1 && steps <= kTrainingSteps, "steps: must be between 1 and 1000");
  const int points = sampler == "dpmpp2m" ? steps + 1 : steps;
  std::vector<std::int32_t> out;
  for (int i = 0; i < steps; ++i) {
    const int k = points - 1 - i;
    const double at = points == 1 ? 0.0 : 999.0 * k / (points - 1);
    out.push_back(static_cast<std::int32_t>(std::nearbyint(at)));
  }
  return out;
}

std::vector<double> alpha_bar_table() {
  std::vector<double> out;
  double product = 1.0;
  for (int i = 0; i < kTrainingSteps; ++i) {
    product *= 1.0 - (1e-4 + (2e-2 - 1e-4) * i / (kTrainingSteps - 1));
    out.push_back(product);
  }
  return out;
}

std::uint64_t drawn_bits(std::uint64_t seed, std::uint32_t stream, std::uint64_t index) {
  const PhiloxBlock bits =
      philox4x32_10(PhiloxBlock{{static_cast<std::uint32_t>(index),
                                 static_cast<std::uint32_t>(index >> 32), stream, 0x64726177u}},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return (std::uint64_t{bits.v[0]} << 32) | bits.v[1];
}

std::vector<std::int32_t> drawn_labels(const Task& task, std::uint64_t seed, std::uint64_t index) {
  std::vector<std::int32_t> out;
  for (std::int64_t n = 0; n < task.images; ++n) {
    const std::uint64_t bits =
        drawn_bits(seed, 1, index * static_cast<std::uint64_t>(task.images) + n);
    out.push_back(static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(task.classes)));
  }
  return out;
}

RunRequest make_request(const Task& task, std::span<const std::int32_t> labels, RequestSeed seed,
                        std::uint64_t nonce) {
  require(static_cast<std::int64_t>(labels.size()) == task.images,
          "request: one label per image is needed");
  RunRequest request;
  request.nonce = nonce;
  request.images = task.images;
  request.channels = task.channels;
  request.height = task.height;
  request.width = task.width;
  request.labels.assign(labels.begin(), labels.end());
  request.schedule = task.schedule;
  const std::int64_t per_image = task.channels * task.height * task.width;
  request.latents.resize(static_cast<std::size_t>(task.images * per_image));
  for (std::int64_t n = 0; n < task.images; ++n) {
    philox_normal(
        seed.noise, seed.first_image + static_cast<std::uint64_t>(n), 0,
        std::span<float>(request.latents)
            .subspan(static_cast<std::size_t>(n * per_image), static_cast<std::size_t>(per_image)));
  }
  return request;
}

std::vector<std::int32_t> parse_labels(const std::string& text, int classes) {
  std::vector<std::int32_t> out;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, comma - at);
    const std::size_t dash = part.find('-');
    if (dash == std::string_view::npos) {
      out.push_back(parse_class(part, text, classes));
    } else {
      const int first = parse_class(part.substr(0, dash), text, classes);
      const int last = parse_class(part.substr(dash + 1), text, classes);
      for (int k = first; k <= last; ++k) out.push_back(k);
      if (first > last) {
        throw InvalidArgument("labels '" + text + "': the range " + std::string(part) +
                              " runs backwards; write " + std::to_string(last) + "-" +
                              std::to_string(first));
      }
    }
    at = comma + 1;
  }
  return out;
}

}  // namespace ditar
