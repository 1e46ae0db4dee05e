// Access to the golden files of tests/golden/data, which scripts/golden/make_goldens.py makes.
#pragma once

#include "ditar/config/safetensors.h"
#include "test_paths.h"

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ditar::golden {

inline std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(DITAR_SOURCE_DIR) / "tests/golden/data" / name;
}

inline std::vector<std::int32_t> read_i32(const SafetensorsFile& file, const std::string& name) {
  std::vector<std::int32_t> out;
  for (const std::int64_t value : read_i64(file.at(name))) {
    out.push_back(static_cast<std::int32_t>(value));
  }
  return out;
}

/// ||a - b|| / ||b||; infinite if sizes differ or anything is not finite.
template <typename T>
double relative_l2(std::span<const T> a, std::span<const double> b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    difference += d * d;
    norm += b[i] * b[i];
  }
  const double error = std::sqrt(difference / norm);
  return std::isfinite(error) ? error : INFINITY;
}
template <typename T>
double relative_l2(const std::vector<T>& a, const std::vector<double>& b) {
  return relative_l2(std::span<const T>(a), std::span<const double>(b));
}

}  // namespace ditar::golden
