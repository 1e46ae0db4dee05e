#include "cut_weight.h"

namespace ditar {

std::vector<std::byte> cut_matrix(std::span<const std::byte> matrix, std::int64_t rows,
                                  std::size_t element_bytes, const MatrixCut& cut) {
  const std::size_t row_bytes = matrix.size() / static_cast<std::size_t>(rows);
  std::vector<std::byte> part;
  part.reserve(matrix.size() / static_cast<std::size_t>(cut.parts));
  const auto add = [&](std::size_t begin, std::size_t count) {
    const auto piece = matrix.subspan(begin, count);
    part.insert(part.end(), piece.begin(), piece.end());
  };
  if (cut.by == MatrixCut::By::kRows) {
    const std::int64_t each = rows / cut.blocks;
    const MeshRange own = split_range(each, cut.parts, cut.part);
    for (std::int64_t block = 0; block < cut.blocks; ++block) {
      add(static_cast<std::size_t>(block * each + own.begin) * row_bytes,
          static_cast<std::size_t>(own.count()) * row_bytes);
    }
  } else if (cut.by == MatrixCut::By::kColumns) {
    const auto columns = static_cast<std::int64_t>(row_bytes / element_bytes);
    const MeshRange own = split_range(columns, cut.parts, cut.part);
    for (std::int64_t row = 0; row < rows; ++row) {
      add(static_cast<std::size_t>(row) * row_bytes +
              static_cast<std::size_t>(own.begin) * element_bytes,
          static_cast<std::size_t>(own.count()) * element_bytes);
    }
  } else {
    add(0, matrix.size());
  }
  return part;
}

std::vector<double> cut_bias(const std::vector<double>& bias, const MatrixCut& cut) {
  if (cut.by == MatrixCut::By::kColumns) return cut.part == 0 ? bias : std::vector<double>{};
  const auto bytes = cut_matrix(std::as_bytes(std::span(bias)),
                                static_cast<std::int64_t>(bias.size()), sizeof(double), cut);
  const auto* begin = reinterpret_cast<const double*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(double)};
}

}  // namespace ditar
