// Scores of a generated set and distances between images. Pure functions in FP64; thread-safe.
// Frechet: Heusel et al. 2017; kernel distance: Binkowski et al. 2018 (unbiased, cubic kernel);
// SSIM: Wang et al. 2004 (Gaussian window 11, sigma 1.5, inside the image only).
#pragma once

#include "ditar/coordinator/quality/judge.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace ditar {

struct FeatureMoments {
  std::size_t size = 0;
  std::vector<double> mean, covariance;  ///< (size), (size, size) with n - 1
};
/// @throws InvalidArgument for fewer than two rows. `rows` (may be empty: all) picks rows.
FeatureMoments moments(std::span<const float> features, std::size_t feature_size,
                       std::span<const std::size_t> rows = {});

/// |m1-m2|^2 + tr(C1 + C2 - 2 (C1^1/2 C2 C1^1/2)^1/2), by symmetric eigen-decomposition.
/// @throws InvalidArgument if sizes differ.
double frechet_distance(const FeatureMoments& a, const FeatureMoments& b);

/// Unbiased squared MMD with k(x,y) = (x.y/size + 1)^3; may be below 0.
/// @throws InvalidArgument for fewer than two rows on a side.
double kernel_distance(std::span<const float> x, std::span<const float> y, std::size_t size);

/// Share of rows whose largest logit is the label's (first wins a tie; NaN never does).
double accuracy(const ScoredSet& set);
/// ln softmax of the label's logit per image: larger is better.
std::vector<double> label_log_probability(const ScoredSet& set);

/// "accuracy", "frechet" or "kernel_distance" of a set. `rows` as in moments().
/// @throws InvalidArgument for another name, or for kernel_distance without reference features.
double required_score(std::string_view name, const ScoredSet& set, const RealReference& reference,
                      std::span<const std::size_t> rows = {});

/// Largest |a - b|; infinity where a value is not finite.
double max_abs_error(std::span<const float> a, std::span<const float> b);
/// ||value - reference|| / ||reference||; 0 if both are 0; infinity where a value is not finite.
double relative_l2_error(std::span<const float> reference, std::span<const float> value);
/// dB for pixels of [-1, 1] (peak 2); infinity if equal, -infinity where a value is not finite.
double psnr(std::span<const float> a, std::span<const float> b);
/// Mean SSIM of one image plane of height x width, range 2. @throws InvalidArgument if either side
/// is below 11.
double ssim(std::span<const float> a, std::span<const float> b, std::size_t height,
            std::size_t width);

}  // namespace ditar
