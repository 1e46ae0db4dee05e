// Embeddings on the CPU. Small; the timestep embedding is computed in FP64 for every dtype.
#include "ops/cpu_ops.h"
#include "parallel_for.h"

#include <algorithm>
#include <cmath>

namespace ditar::cpu {

void timestep_embedding(std::span<const double> timesteps, double shift, TensorView out,
                        double max_period) {
  const std::int64_t half = out.size(1) / 2;
  with_type(out.dtype(), [&]<typename T>(T) {
    T* row = out.as<T>();
    for (const double timestep : timesteps) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = static_cast<double>(i) / (static_cast<double>(half) - shift);
        const double angle = timestep * std::exp(-std::log(max_period) * exponent);
        row[i] = static_cast<T>(std::cos(angle));
        row[half + i] = static_cast<T>(std::sin(angle));
      }
      row += 2 * half;
    }
  });
}

void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices,
                      TensorView out) {
  const std::int64_t width = table.size(1);
  with_type(table.dtype(), [&]<typename T>(T) {
    T* to = out.as<T>();
    for (const std::int32_t index : indices) {
      const T* from = table.as<T>() + index * width;
      to = std::copy(from, from + width, to);
    }
  });
}

void add_rows(ConstTensorView rows, TensorView x) {
  const std::int64_t block = rows.count();
  if (block == 0) return;
  with_type(x.dtype(), [&]<typename T>(T) {
    const T* from = rows.as<T>();
    T* to = x.as<T>();
    parallel_for(x.size(0) * x.size(1), x.count() / 4,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   const std::int64_t width = x.size(2);
                   for (std::int64_t row = begin; row < end; ++row) {
                     const T* add = from + row % x.size(1) * width;
                     for (std::int64_t i = 0; i < width; ++i) to[row * width + i] += add[i];
                   }
                 });
  });
}

}  // namespace ditar::cpu
