// The only file that sees Eigen.
#include "ditar/config/error.h"
#include "ditar/coordinator/quality/scores.h"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ditar {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix symmetric(const FeatureMoments& m) {
  const auto n = static_cast<Eigen::Index>(m.size);
  const Matrix raw = Eigen::Map<const Matrix>(m.covariance.data(), n, n);
  return 0.5 * (raw + raw.transpose());
}

}  // namespace

double frechet_distance(const FeatureMoments& a, const FeatureMoments& b) {
  require(a.size == b.size && a.mean.size() == a.size && b.mean.size() == b.size &&
              a.covariance.size() == a.size * a.size && b.covariance.size() == b.size * b.size,
          "frechet_distance: the moments have different sizes");
  double distance = 0.0;
  for (std::size_t i = 0; i < a.size; ++i) {
    distance += (a.mean[i] - b.mean[i]) * (a.mean[i] - b.mean[i]);
  }
  const Matrix ca = symmetric(a), cb = symmetric(b);
  if (!ca.allFinite() || !cb.allFinite() || !std::isfinite(distance)) {
    return std::numeric_limits<double>::infinity();
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> of_a(ca);
  const Matrix root = of_a.eigenvectors() *
                      of_a.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
                      of_a.eigenvectors().transpose();
  const Matrix inner = root * cb * root;
  const Eigen::SelfAdjointEigenSolver<Matrix> of_inner(0.5 * (inner + inner.transpose()),
                                                       Eigen::EigenvaluesOnly);
  const double cross = of_inner.eigenvalues().cwiseMax(0.0).cwiseSqrt().sum();
  return distance + ca.trace() + cb.trace() - 2.0 * cross;
}

}  // namespace ditar
