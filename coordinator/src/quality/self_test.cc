// Planted outputs that a sound gate must refuse, and admissible ones that it must pass.
#include "ditar/config/error.h"
#include "ditar/coordinator/quality/quality_gate.h"
#include "quality/bootstrap.h"

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

using Images = std::vector<std::vector<float>>;

ScoredSet score_images(const Judge& judge, std::span<const std::vector<float>> images,
                       std::span<const std::int32_t> labels) {
  std::vector<float> pixels;
  for (const auto& image : images) pixels.insert(pixels.end(), image.begin(), image.end());
  return judge.score(pixels, labels);
}

std::vector<float> noise_image(std::size_t size, std::uint64_t stream) {
  std::vector<float> image(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double unit = static_cast<double>(counter_bits(stream, i) >> 11) * 0x1p-53;
    image[i] = static_cast<float>(2.0 * unit - 1.0);
  }
  return image;
}

/// Mean over a (2 radius + 1)^2 window, cut at the border.
std::vector<float> blurred(const std::vector<float>& image) {
  constexpr int kRadius = 2, kSide = static_cast<int>(Judge::kSide);
  std::vector<float> out(image.size());
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      double sum = 0.0;
      int count = 0;
      for (int v = std::max(0, y - kRadius); v <= std::min(kSide - 1, y + kRadius); ++v) {
        for (int u = std::max(0, x - kRadius); u <= std::min(kSide - 1, x + kRadius); ++u) {
          sum += image[static_cast<std::size_t>(v * kSide + u)];
          ++count;
        }
      }
      out[static_cast<std::size_t>(y * kSide + x)] = static_cast<float>(sum / count);
    }
  }
  return out;
}

/// Each image trades places with the next one of another label.
Images with_swapped_labels(const Images& images, const std::vector<std::int32_t>& labels) {
  Images out = images;
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::size_t j = (i + 1) % images.size();
    while (j != i && labels[j] == labels[i]) j = (j + 1) % images.size();
    out[i] = images[j];
  }
  return out;
}

std::vector<std::pair<std::string, Images>> planted_faults(const Images& good,
                                                           const std::vector<std::int32_t>& labels,
                                                           std::uint64_t seed) {
  std::vector<std::pair<std::string, Images>> faults;
  const std::size_t size = good.front().size();
  faults.emplace_back("zeros", Images(good.size(), std::vector<float>(size, 0.0F)));
  faults.emplace_back("constants", Images(good.size(), std::vector<float>(size, -1.0F)));
  Images previous = good;
  std::rotate(previous.rbegin(), previous.rbegin() + 1, previous.rend());
  faults.emplace_back("previous output", std::move(previous));
  Images noise, blur;
  for (std::size_t i = 0; i < good.size(); ++i) {
    noise.push_back(noise_image(size, counter_bits(seed, i)));
    blur.push_back(blurred(good[i]));
  }
  faults.emplace_back("noise", noise);
  faults.emplace_back("blurred set", std::move(blur));
  faults.emplace_back("swapped labels", with_swapped_labels(good, labels));
  Images one_bad = good;
  for (std::size_t i = 7; i < one_bad.size(); i += 64) one_bad[i] = noise[i];
  faults.emplace_back("one bad image in 64", std::move(one_bad));
  return faults;
}

}  // namespace

std::vector<SelfTestCase> run_gate_self_test(const SelfTestInput& input, const Judge& judge,
                                             ChangeClass chain, const GateParams& params) {
  require(input.original.size() >= 64 && input.labels.size() == input.original.size(),
          "gate self-test: at least 64 images with their labels are needed");
  const Images original(input.original.begin(), input.original.end());
  for (const auto& image : original) {
    require(image.size() == Judge::kPixels, "gate self-test: an image is not 28 x 28");
  }
  const ScoredSet reference_set = score_images(judge, original, input.labels);
  std::vector<ScoredSet> variant_sets;
  for (const Images& variant : input.variants) {
    require(variant.size() == original.size(), "gate self-test: a variant has another size");
    variant_sets.push_back(score_images(judge, variant, input.labels));
  }
  const auto try_case = [&](std::string name, bool must_pass, const Images& images,
                            std::span<const ScoredSet> admissible) {
    GateInput gate;
    gate.chain = chain;
    gate.hard.values_per_output = Judge::kPixels;
    gate.hard.outputs = images;
    gate.original_images = original;
    gate.candidate_images = images;
    gate.reference = &judge.reference();
    gate.original = reference_set;
    gate.candidate = score_images(judge, images, input.labels);
    gate.variants.assign(admissible.begin(), admissible.end());
    const GateResult result = run_quality_gate(gate, params);
    return SelfTestCase{std::move(name), must_pass, result.pass, result.reasons};
  };
  std::vector<SelfTestCase> cases;
  cases.push_back(try_case("the baseline itself", true, original, variant_sets));
  for (std::size_t k = 0; k < input.variants.size(); ++k) {
    cases.push_back(try_case("admissible variant " + std::to_string(k + 1), true, input.variants[k],
                             variant_sets));
  }
  for (const auto& [name, images] : planted_faults(original, input.labels, params.seed)) {
    cases.push_back(try_case(name, false, images, variant_sets));
  }
  return cases;
}

}  // namespace ditar
