// Attention on the CPU, parallel over images and heads (and over q rows where those do not divide
// evenly). FP32 runs the packed tiles of simd_kernels.inc; FP64 takes their FP64 product and a
// softmax in plain code over libm.
#include "ops/cpu_ops.h"
#include "parallel_for.h"
#include "simd_kernels.h"

#include <algorithm>
#include <cmath>

namespace ditar::cpu {
namespace {

constexpr std::int64_t attention_scratch_f64(std::int64_t kv_length, std::int64_t head_size) {
  return panels_of_f64(kv_length) * kPanelF64 * head_size +    // packed k
         panels_of_f64(head_size) * kPanelF64 * kv_length +    // packed v
         kMaxTileRows * panels_of_f64(kv_length) * kPanelF64;  // scores
}

std::int64_t scratch_elements(DType dtype, std::int64_t kv_length, std::int64_t head_size) {
  const std::int64_t elements = dtype == DType::kF32
                                    ? attention_scratch_floats(kv_length, head_size)
                                    : attention_scratch_f64(kv_length, head_size);
  return (elements + 15) / 16 * 16;
}

/// What one (image, head) reads and writes.
template <typename T>
struct Head {
  const T* q;
  const T* k;
  const T* v;
  T* out;
  T* lse;
};

template <typename T>
Head<T> head_at(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
                TensorView lse, std::int64_t image, std::int64_t head) {
  const auto at = [&](const auto& view) { return image * view.stride(0) + head * view.stride(2); };
  return {q.as<T>() + at(q), k.as<T>() + at(k), v.as<T>() + at(v), out.as<T>() + at(out),
          lse.empty() ? nullptr : lse.as<T>() + (image * q.size(2) + head) * q.size(1)};
}

struct Geometry {
  std::int64_t q_stride, k_stride, v_stride, out_stride, kv_length, head_size;
  double scale;
};

void run_rows(const Head<float>& head, const Geometry& g, std::int64_t begin, std::int64_t end,
              float* scratch) {
  AttentionHead a;
  a.q = head.q;
  a.k = head.k;
  a.v = head.v;
  a.out = head.out;
  a.log_sum_exp = head.lse;
  a.q_stride = g.q_stride;
  a.k_stride = g.k_stride;
  a.v_stride = g.v_stride;
  a.out_stride = g.out_stride;
  a.row_begin = begin;
  a.row_end = end;
  a.kv_length = g.kv_length;
  a.head_size = g.head_size;
  a.scale = static_cast<float>(g.scale);
  a.scratch = scratch;
  simd().attention(a);
}

/// k (S', D) to panels of 8 keys, v (S', D) to panels of 8 columns; zeros beyond the edge.
void pack_f64(const Head<double>& head, const Geometry& g, double* keys, double* values) {
  for (std::int64_t key = 0; key < panels_of_f64(g.kv_length) * kPanelF64; ++key) {
    double* to = keys + key / kPanelF64 * kPanelF64 * g.head_size + key % kPanelF64;
    const double* from = head.k + key * g.k_stride;
    for (std::int64_t i = 0; i < g.head_size; ++i) {
      to[i * kPanelF64] = key < g.kv_length ? from[i] : 0.0;
    }
  }
  for (std::int64_t column = 0; column < panels_of_f64(g.head_size) * kPanelF64; ++column) {
    double* to = values + column / kPanelF64 * kPanelF64 * g.kv_length + column % kPanelF64;
    for (std::int64_t key = 0; key < g.kv_length; ++key) {
      to[key * kPanelF64] = column < g.head_size ? head.v[key * g.v_stride + column] : 0.0;
    }
  }
}

/// scores -> exp(scale s - max of that) in place. @return their sum; the max through `top`.
double softmax_f64(double* scores, std::int64_t count, double scale, double* top) {
  *top = -HUGE_VAL;
  for (std::int64_t j = 0; j < count; ++j) {
    scores[j] *= scale;
    *top = std::max(*top, scores[j]);
  }
  double sum = 0.0;
  for (std::int64_t j = 0; j < count; ++j) sum += scores[j] = std::exp(scores[j] - *top);
  return sum;
}

void run_rows(const Head<double>& head, const Geometry& g, std::int64_t begin, std::int64_t end,
              double* scratch) {
  const std::int64_t width = panels_of_f64(g.kv_length) * kPanelF64;
  double* keys = scratch;
  double* values = keys + width * g.head_size;
  double* scores = values + panels_of_f64(g.head_size) * kPanelF64 * g.kv_length;
  pack_f64(head, g, keys, values);
  double tile[kMaxTileRows * kPanelF64];
  double sums[kMaxTileRows];
  for (std::int64_t row = begin; row < end; row += kMaxTileRows) {
    const std::int64_t rows = std::min(kMaxTileRows, end - row);
    for (std::int64_t column = 0; column < width; column += kPanelF64) {
      simd().tile_f64(head.q + row * g.q_stride, g.q_stride, rows, keys + column * g.head_size,
                      g.head_size, tile);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(tile + r * kPanelF64, kPanelF64, scores + r * width + column);
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      double top = 0.0;
      sums[r] = softmax_f64(scores + r * width, g.kv_length, g.scale, &top);
      if (head.lse != nullptr) head.lse[row + r] = top + std::log(sums[r]);
    }
    for (std::int64_t column = 0; column < g.head_size; column += kPanelF64) {
      simd().tile_f64(scores, width, rows, values + column * g.kv_length, g.kv_length, tile);
      for (std::int64_t r = 0; r < rows; ++r) {
        double* out = head.out + (row + r) * g.out_stride + column;
        for (std::int64_t j = 0; j < std::min(kPanelF64, g.head_size - column); ++j) {
          out[j] = tile[r * kPanelF64 + j] / sums[r];
        }
      }
    }
  }
}

}  // namespace

std::size_t attention_workspace_bytes(DType dtype, std::int64_t, std::int64_t kv_length,
                                      std::int64_t head_size) noexcept {
  return static_cast<std::size_t>(cpu_threads() * scratch_elements(dtype, kv_length, head_size)) *
         size_of(dtype);
}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, TensorView workspace) {
  const std::int64_t heads = q.size(2);
  const std::int64_t pairs = q.size(0) * heads;
  const std::int64_t rows = q.size(1);
  const std::int64_t threads = cpu_threads();
  const bool whole = pairs % threads == 0 || pairs >= 8 * threads;
  const std::int64_t splits = whole ? 1 : std::min(threads, rows);
  const Geometry g{q.stride(1), k.stride(1), v.stride(1), out.stride(1),
                   k.size(1),   q.size(3),   scale};
  const std::int64_t work = pairs * rows * g.kv_length * g.head_size / 4;
  with_type(q.dtype(), [&]<typename T>(T) {
    const std::int64_t scratch = scratch_elements(q.dtype(), g.kv_length, g.head_size);
    T* const memory = static_cast<T*>(workspace.data());
    parallel_for(pairs * splits, work, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t pair = item / splits;
        const std::int64_t part = item % splits;
        run_rows(head_at<T>(q, k, v, out, log_sum_exp, pair / heads, pair % heads), g,
                 rows * part / splits, rows * (part + 1) / splits, memory + thread * scratch);
      }
    });
  });
}

void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out,
                     TensorView lse) {
  with_type(part.dtype(), [&]<typename T>(T) {
    const std::int64_t length = part.size(1);
    const std::int64_t heads = part.size(2);
    const std::int64_t size = part.size(3);
    const std::int64_t rows = part.size(0) * heads * length;
    parallel_for(rows, rows * (size + 40), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t image = row / (heads * length);
        const std::int64_t head = row / length % heads;
        const std::int64_t token = row % length;
        const T* from =
            part.as<T>() + image * part.stride(0) + token * part.stride(1) + head * part.stride(2);
        T* to = out.as<T>() + image * out.stride(0) + token * out.stride(1) + head * out.stride(2);
        const T a = lse.as<T>()[row];
        const T b = part_lse.as<T>()[row];
        const T top = b > a ? b : a;
        const T weight_a = std::exp(a - top);
        const T weight_b = std::exp(b - top);
        const T sum = weight_a + weight_b;
        for (std::int64_t i = 0; i < size; ++i) {
          to[i] = (weight_a * to[i] + weight_b * from[i]) / sum;
        }
        lse.as<T>()[row] = top + std::log(sum);
      }
    });
  });
}

}  // namespace ditar::cpu
