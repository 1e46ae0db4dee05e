#include "ditar/config/error.h"
#include "ditar/coordinator/quality/scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ditar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWindow = 11;

std::array<double, kWindow> gaussian_window() {
  std::array<double, kWindow> weights{};
  double sum = 0.0;
  for (std::size_t i = 0; i < kWindow; ++i) {
    const double x = static_cast<double>(i) - 5.0;
    weights[i] = std::exp(-x * x / (2.0 * 1.5 * 1.5));
    sum += weights[i];
  }
  for (double& w : weights) w /= sum;
  return weights;
}

double ssim_at(const float* a, const float* b, std::size_t stride,
               const std::array<double, kWindow>& w) {
  constexpr double kC1 = (0.01 * 2.0) * (0.01 * 2.0), kC2 = (0.03 * 2.0) * (0.03 * 2.0);
  double ma = 0.0, mb = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
  for (std::size_t y = 0; y < kWindow; ++y) {
    for (std::size_t x = 0; x < kWindow; ++x) {
      const double weight = w[y] * w[x], p = a[y * stride + x], q = b[y * stride + x];
      ma += weight * p;
      mb += weight * q;
      aa += weight * p * p;
      bb += weight * q * q;
      ab += weight * p * q;
    }
  }
  const double va = aa - ma * ma, vb = bb - mb * mb, cov = ab - ma * mb;
  return (2.0 * ma * mb + kC1) * (2.0 * cov + kC2) / ((ma * ma + mb * mb + kC1) * (va + vb + kC2));
}

}  // namespace

double max_abs_error(std::span<const float> a, std::span<const float> b) {
  require(a.size() == b.size(), "max_abs_error: sizes differ");
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(d)) return kInfinity;
    worst = std::max(worst, d);
  }
  return worst;
}

double relative_l2_error(std::span<const float> reference, std::span<const float> value) {
  require(reference.size() == value.size(), "relative_l2_error: sizes differ");
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i], d = static_cast<double>(value[i]) - r;
    error += d * d;
    norm += r * r;
  }
  if (!std::isfinite(error) || !std::isfinite(norm)) return kInfinity;
  if (error == 0.0) return 0.0;
  return norm > 0.0 ? std::sqrt(error / norm) : kInfinity;
}

double psnr(std::span<const float> a, std::span<const float> b) {
  require(a.size() == b.size() && !a.empty(), "psnr: sizes differ or are 0");
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    squares += d * d;
  }
  if (!std::isfinite(squares)) return -kInfinity;
  if (squares == 0.0) return kInfinity;
  return 10.0 * std::log10(4.0 * static_cast<double>(a.size()) / squares);
}

double ssim(std::span<const float> a, std::span<const float> b, std::size_t height,
            std::size_t width) {
  require(height >= kWindow && width >= kWindow, "ssim: each side must be at least 11 pixels");
  require(a.size() == height * width && b.size() == a.size(), "ssim: not one plane each");
  static const std::array<double, kWindow> kWeights = gaussian_window();
  double sum = 0.0;
  for (std::size_t y = 0; y + kWindow <= height; ++y) {
    for (std::size_t x = 0; x + kWindow <= width; ++x) {
      const std::size_t at = y * width + x;
      sum += ssim_at(a.data() + at, b.data() + at, width, kWeights);
    }
  }
  return sum / static_cast<double>((height - kWindow + 1) * (width - kWindow + 1));
}

}  // namespace ditar
