// The judge: a small CNN that reads a generated digit, in FP32 with one fixed order of additions,
// so that the same image gives the same bits in any batch. Immutable after loading; threads may
// share it. Images are (n, 28, 28) in [-1, 1], row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace ditar {

/// What the judge saw in a set of images; all that the scores need.
struct ScoredSet {
  std::size_t count = 0, feature_size = 0, classes = 0;
  std::vector<float> features;  ///< (count, feature_size)
  std::vector<float> logits;    ///< (count, classes)
  std::vector<std::int32_t> labels;
};

/// Features of real images: first two moments, and the features themselves where the file has them.
struct RealReference {
  std::size_t feature_size = 0;
  std::vector<double> mean;        ///< (feature_size)
  std::vector<double> covariance;  ///< (feature_size, feature_size), n - 1
  std::size_t count = 0;
  std::vector<float> features;  ///< (count, feature_size); may be empty
};

class Judge {
 public:
  static constexpr std::size_t kSide = 28, kPixels = kSide * kSide;

  /// Keys conv{1,2,3}.{weight,bias}, fc{1,2}.{weight,bias}, reference.{mu,cov}, optional
  /// reference.features. @throws IoError, DataError naming file and key.
  explicit Judge(const std::filesystem::path& weights);

  /// @throws InvalidArgument if the pixels are not labels.size() whole images or a label is outside
  /// the classes. A NaN pixel gives NaN scores; the hard-failure check finds it.
  ScoredSet score(std::span<const float> images, std::span<const std::int32_t> labels) const;

  const RealReference& reference() const noexcept { return reference_; }

 private:
  struct Convolution {
    std::size_t in = 0, out = 0, side = 0;  ///< side of the square input
    std::vector<float> weight, bias;        ///< (out, in, 3, 3), (out)
  };
  struct Linear {
    std::size_t in = 0, out = 0;
    std::vector<float> weight, bias;  ///< (out, in), (out)
  };
  static void apply(const Convolution& layer, std::span<const float> in, std::span<float> out);
  static void apply(const Linear& layer, std::span<const float> in, std::span<float> out);

  std::vector<Convolution> convolutions_;
  Linear fc1_, fc2_;
  RealReference reference_;
};

}  // namespace ditar
