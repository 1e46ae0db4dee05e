#include "ditar/coordinator/quality/scores.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ditar {
namespace {

std::size_t row_count(std::size_t all, std::span<const std::size_t> rows) {
  return rows.empty() ? all : rows.size();
}

double kernel(const float* x, const float* y, std::size_t size) {
  double dot = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    dot += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  const double base = dot / static_cast<double>(size) + 1.0;
  return base * base * base;
}

/// Mean of the kernel over ordered pairs of different rows.
double mean_within(std::span<const float> x, std::size_t size) {
  const std::size_t n = x.size() / size;
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      sum += kernel(x.data() + i * size, x.data() + j * size, size);
    }
  }
  return 2.0 * sum / (static_cast<double>(n) * static_cast<double>(n - 1));
}

bool is_right(const ScoredSet& set, std::size_t row) {
  const float* logits = set.logits.data() + row * set.classes;
  const auto label = static_cast<std::size_t>(set.labels[row]);
  if (std::isnan(logits[label])) return false;
  for (std::size_t c = 0; c < set.classes; ++c) {
    if (std::isnan(logits[c]) || logits[c] > logits[label]) return false;
    if (c < label && logits[c] == logits[label]) return false;
  }
  return true;
}

}  // namespace

FeatureMoments moments(std::span<const float> features, std::size_t feature_size,
                       std::span<const std::size_t> rows) {
  require(feature_size > 0 && features.size() % feature_size == 0,
          "moments: the features are not whole rows");
  const std::size_t n = row_count(features.size() / feature_size, rows);
  require(n >= 2, "moments: at least two rows are needed");
  const auto row = [&](std::size_t i) {
    return features.data() + (rows.empty() ? i : rows[i]) * feature_size;
  };
  FeatureMoments result;
  result.size = feature_size;
  result.mean.assign(feature_size, 0.0);
  result.covariance.assign(feature_size * feature_size, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < feature_size; ++c) result.mean[c] += row(i)[c];
  }
  for (double& value : result.mean) value /= static_cast<double>(n);
  std::vector<double> centred(feature_size);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < feature_size; ++c) centred[c] = row(i)[c] - result.mean[c];
    for (std::size_t c = 0; c < feature_size; ++c) {
      double* out = result.covariance.data() + c * feature_size;
      for (std::size_t k = 0; k <= c; ++k) out[k] += centred[c] * centred[k];
    }
  }
  for (std::size_t c = 0; c < feature_size; ++c) {
    for (std::size_t k = 0; k <= c; ++k) {
      const double value = result.covariance[c * feature_size + k] / static_cast<double>(n - 1);
      result.covariance[c * feature_size + k] = value;
      result.covariance[k * feature_size + c] = value;
    }
  }
  return result;
}

double kernel_distance(std::span<const float> x, std::span<const float> y, std::size_t size) {
  require(size > 0 && x.size() % size == 0 && y.size() % size == 0,
          "kernel_distance: the features are not whole rows");
  const std::size_t n = x.size() / size, m = y.size() / size;
  require(n >= 2 && m >= 2, "kernel_distance: at least two rows on each side are needed");
  double cross = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      cross += kernel(x.data() + i * size, y.data() + j * size, size);
    }
  }
  return mean_within(x, size) + mean_within(y, size) -
         2.0 * cross / (static_cast<double>(n) * static_cast<double>(m));
}

double accuracy(const ScoredSet& set) {
  require(set.count > 0, "accuracy: the set is empty");
  std::size_t right = 0;
  for (std::size_t i = 0; i < set.count; ++i) right += is_right(set, i) ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(set.count);
}

std::vector<double> label_log_probability(const ScoredSet& set) {
  std::vector<double> result(set.count);
  for (std::size_t i = 0; i < set.count; ++i) {
    const float* logits = set.logits.data() + i * set.classes;
    const double top = *std::max_element(logits, logits + set.classes);
    double sum = 0.0;
    for (std::size_t c = 0; c < set.classes; ++c) sum += std::exp(logits[c] - top);
    result[i] = logits[set.labels[i]] - top - std::log(sum);
  }
  return result;
}

double required_score(std::string_view name, const ScoredSet& set, const RealReference& reference,
                      std::span<const std::size_t> rows) {
  if (name == "accuracy") {
    if (rows.empty()) return accuracy(set);
    std::size_t right = 0;
    for (const std::size_t row : rows) right += is_right(set, row) ? 1 : 0;
    return static_cast<double>(right) / static_cast<double>(rows.size());
  }
  require(set.feature_size == reference.feature_size,
          "required_score: the set and the real reference come from different judges");
  if (name == "frechet") {
    const FeatureMoments real{reference.feature_size, reference.mean, reference.covariance};
    return frechet_distance(moments(set.features, set.feature_size, rows), real);
  }
  if (name == "kernel_distance") {
    require(!reference.features.empty(),
            "required_score: kernel_distance needs reference.features in the judge's file");
    if (rows.empty()) return kernel_distance(set.features, reference.features, set.feature_size);
    std::vector<float> picked;
    for (const std::size_t row : rows) {
      const float* at = set.features.data() + row * set.feature_size;
      picked.insert(picked.end(), at, at + set.feature_size);
    }
    return kernel_distance(picked, reference.features, set.feature_size);
  }
  throw InvalidArgument("required score '" + std::string(name) +
                        "' is none of accuracy, frechet, kernel_distance");
}

}  // namespace ditar
