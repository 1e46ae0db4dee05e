// Cuts one part out of a stored matrix: rows for layers split by output, columns for layers split
// by input. Pure functions over host memory.
#pragma once

#include "ditar/parallel/device_mesh.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ditar {

/// Which part of a matrix a rank holds.
struct MatrixCut {
  enum class By : std::uint8_t { kNothing, kRows, kColumns };
  By by = By::kNothing;
  int part = 0, parts = 1;
  std::int64_t blocks = 1;  ///< rows are `blocks` stacked matrices (q, k and v), each cut alike
};

/// The part of a (rows, columns) matrix of elements of `element_bytes`.
std::vector<std::byte> cut_matrix(std::span<const std::byte> matrix, std::int64_t rows,
                                  std::size_t element_bytes, const MatrixCut& cut);
/// The part of a bias that belongs to it: cut with the rows; of layers cut by columns the first
/// part has all of it and the others none, since their results are added.
std::vector<double> cut_bias(const std::vector<double>& bias, const MatrixCut& cut);

}  // namespace ditar
