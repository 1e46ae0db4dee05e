// The body of one instruction set's DenseOps: compiled once per set by a file that defines
// DITAR_DENSE_NAMESPACE and the flags. See dense_ops.h for contracts.
#include "dense_ops.h"

#include <omp.h>

#include <cmath>

namespace ditar::DITAR_DENSE_NAMESPACE {
namespace {

// exp in FP32: 2^n * p(r), |r| <= ln(2)/2, polynomial of degree 6; about 2 ulp. NaN stays NaN.
// Below -87.3 the result is 2^-126 and above 88 it is e^88: callers only divide or sum such values.
inline float exponential(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.0f ? 88.0f : x;
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  float p = 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const unsigned power = (__builtin_bit_cast(unsigned, shifted) + 127u) << 23;
  return p * __builtin_bit_cast(float, power);
}
inline double exponential(double x) { return ::exp(x); }
inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }

template <typename T>
inline T silu(T x) {
  return x / (T(1) + exponential(-x));
}

// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
template <typename T>
inline T gelu_tanh(T x) {
  constexpr T kTwoRoot = T(1.5957691216057307117597842397375);
  return x / (T(1) + exponential(-kTwoRoot * (x + T(0.044715) * x * x * x)));
}

#include "dense_gemm.inl"

template <typename T>
inline void norm_row(const T* x, std::int64_t hidden, T eps, const T* shift, const T* scale, T* y) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < hidden; ++d) sum += x[d];
  const T mean = sum / static_cast<T>(hidden);
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t d = 0; d < hidden; ++d) squares += (x[d] - mean) * (x[d] - mean);
  const T inverse = T(1) / square_root(squares / static_cast<T>(hidden) + eps);
#pragma omp simd
  for (std::int64_t d = 0; d < hidden; ++d) {
    y[d] = (x[d] - mean) * inverse * (T(1) + scale[d]) + shift[d];
  }
}

template <typename T>
inline void gate_row(T* x, const T* delta, const T* gate, std::int64_t hidden) {
#pragma omp simd
  for (std::int64_t d = 0; d < hidden; ++d) x[d] += gate[d] * delta[d];
}

template <typename T>
void norm_modulate(const T* x, const NormArgs<T>& a, T* y, int threads) {
  const std::int64_t rows = a.images * a.tokens;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t image = r / a.tokens;
    norm_row(x + r * a.hidden, a.hidden, a.eps, a.shift[image], a.scale[image], y + r * a.hidden);
  }
}

template <typename T>
void gate_residual(T* x, const T* delta, PerImage<T> gate, std::int64_t images, std::int64_t tokens,
                   std::int64_t hidden, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t r = 0; r < images * tokens; ++r) {
    gate_row(x + r * hidden, delta + r * hidden, gate[r / tokens], hidden);
  }
}

template <typename T>
void gate_norm_modulate(T* x, const T* delta, PerImage<T> gate, const NormArgs<T>& a, T* y,
                        int threads) {
  const std::int64_t rows = a.images * a.tokens;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t image = r / a.tokens;
    gate_row(x + r * a.hidden, delta + r * a.hidden, gate[image], a.hidden);
    norm_row(x + r * a.hidden, a.hidden, a.eps, a.shift[image], a.scale[image], y + r * a.hidden);
  }
}

// Scales, exponentiates and normalises `count` scores in place; NaN spreads to the whole row.
template <typename T>
inline void softmax_row(T* s, std::int64_t count, T scale) {
  T top = s[0];
#pragma omp simd reduction(max : top)
  for (std::int64_t j = 0; j < count; ++j) top = s[j] > top ? s[j] : top;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < count; ++j) {
    s[j] = exponential((s[j] - top) * scale);
    sum += s[j];
  }
  const T inverse = T(1) / sum;
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) s[j] *= inverse;
}

// (tokens, E) with row stride `ld` -> key panels: kPanel keys wide, E deep.
template <typename T>
inline void pack_keys(const T* k, std::int64_t ld, std::int64_t tokens, std::int64_t head_dim,
                      T* panels) {
  for (std::int64_t p = 0; p < panel_count<T>(tokens); ++p, panels += head_dim * kPanel<T>) {
    for (std::int64_t j = 0; j < kPanel<T>; ++j) {
      const std::int64_t token = p * kPanel<T> + j;
      for (std::int64_t d = 0; d < head_dim; ++d) {
        panels[d * kPanel<T> + j] = token < tokens ? k[token * ld + d] : T(0);
      }
    }
  }
}

// (tokens, E) -> value panels: kPanel channels wide, tokens deep.
template <typename T>
inline void pack_values(const T* v, std::int64_t ld, std::int64_t tokens, std::int64_t head_dim,
                        T* panels) {
  for (std::int64_t p = 0; p < panel_count<T>(head_dim); ++p) {
    const std::int64_t first = p * kPanel<T>;
    const std::int64_t width = head_dim - first < kPanel<T> ? head_dim - first : kPanel<T>;
    for (std::int64_t t = 0; t < tokens; ++t, panels += kPanel<T>) {
      for (std::int64_t j = 0; j < kPanel<T>; ++j) {
        panels[j] = j < width ? v[t * ld + first + j] : T(0);
      }
    }
  }
}

template <typename T>
void attend_head(const T* q, std::int64_t tokens, std::int64_t head_dim, std::int64_t hidden,
                 T* out, T* scratch) {
  const std::int64_t ld = 3 * hidden;
  const std::int64_t padded = panel_count<T>(tokens) * kPanel<T>;
  T* keys = scratch;
  T* values = keys + padded * head_dim;
  T* scores = values + panel_count<T>(head_dim) * kPanel<T> * tokens;
  pack_keys(q + hidden, ld, tokens, head_dim, keys);
  pack_values(q + 2 * hidden, ld, tokens, head_dim, values);
  const T scale = T(1) / square_root(static_cast<T>(head_dim));
  for (std::int64_t r = 0; r < tokens; r += kQueryRows) {
    const std::int64_t rows = tokens - r < kQueryRows ? tokens - r : kQueryRows;
    for (std::int64_t p = 0; p < panel_count<T>(tokens); ++p) {
      panel_rows<T>(q + r * ld, ld, rows, head_dim, keys + p * head_dim * kPanel<T>, nullptr,
                    kPanel<T>, Epilogue::kNone, scores + p * kPanel<T>, padded);
    }
    for (std::int64_t i = 0; i < rows; ++i) softmax_row(scores + i * padded, tokens, scale);
    for (std::int64_t p = 0; p < panel_count<T>(head_dim); ++p) {
      const std::int64_t first = p * kPanel<T>;
      const std::int64_t width = head_dim - first < kPanel<T> ? head_dim - first : kPanel<T>;
      panel_rows<T>(scores, padded, rows, tokens, values + p * tokens * kPanel<T>, nullptr, width,
                    Epilogue::kNone, out + r * hidden + first, hidden);
    }
  }
}

template <typename T>
void attention(const T* qkv, const AttentionArgs<T>& a, T* out, T* scratch, int threads) {
  const std::int64_t hidden = a.heads * a.head_dim;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t task = 0; task < a.images * a.heads; ++task) {
    const std::int64_t image = task / a.heads;
    const std::int64_t column = task % a.heads * a.head_dim;
    attend_head(qkv + image * a.tokens * 3 * hidden + column, a.tokens, a.head_dim, hidden,
                out + image * a.tokens * hidden + column,
                scratch + omp_get_thread_num() * attention_scratch<T>(a.tokens, a.head_dim));
  }
}

template <typename T>
constexpr DenseOps<T> kTable{DITAR_DENSE_NAME, pack<T>,          linear<T>,
                             norm_modulate<T>, gate_residual<T>, gate_norm_modulate<T>,
                             attention<T>};

}  // namespace

template <typename T>
const DenseOps<T>& table() {
  return kTable<T>;
}
template const DenseOps<float>& table<float>();
template const DenseOps<double>& table<double>();

}  // namespace ditar::DITAR_DENSE_NAMESPACE
