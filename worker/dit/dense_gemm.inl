// Panels times rows; included by dense_ops_impl.inl inside its namespace. Near the compute bound:
// 6 rows x one panel of accumulators stay in registers while k runs.
// No standard library here: its inline functions must not be emitted with this file's flags.

template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float Type __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct VectorOf<double> {
  typedef double Type __attribute__((vector_size(32), aligned(8), may_alias));
};

constexpr std::int64_t kRowBlock = 6;

template <typename T, int R>
inline void micro(const T* a, std::int64_t lda, std::int64_t depth, const T* panel, const T* bias,
                  T* out, std::int64_t ldc) {
  using V = typename VectorOf<T>::Type;
  constexpr std::int64_t kLanes = kPanel<T> / 2;
  V low[R], high[R];
  for (int r = 0; r < R; ++r) {
    low[r] = bias == nullptr ? V{} : *reinterpret_cast<const V*>(bias);
    high[r] = bias == nullptr ? V{} : *reinterpret_cast<const V*>(bias + kLanes);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const V b0 = *reinterpret_cast<const V*>(panel + k * kPanel<T>);
    const V b1 = *reinterpret_cast<const V*>(panel + k * kPanel<T> + kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const T value = a[r * lda + k];
      low[r] += value * b0;
      high[r] += value * b1;
    }
  }
  for (int r = 0; r < R; ++r) {
    *reinterpret_cast<V*>(out + r * ldc) = low[r];
    *reinterpret_cast<V*>(out + r * ldc + kLanes) = high[r];
  }
}

template <typename T>
inline void micro_rows(std::int64_t rows, const T* a, std::int64_t lda, std::int64_t depth,
                       const T* panel, const T* bias, T* out, std::int64_t ldc) {
  switch (rows) {
    case 1:
      return micro<T, 1>(a, lda, depth, panel, bias, out, ldc);
    case 2:
      return micro<T, 2>(a, lda, depth, panel, bias, out, ldc);
    case 3:
      return micro<T, 3>(a, lda, depth, panel, bias, out, ldc);
    case 4:
      return micro<T, 4>(a, lda, depth, panel, bias, out, ldc);
    case 5:
      return micro<T, 5>(a, lda, depth, panel, bias, out, ldc);
    default:
      return micro<T, 6>(a, lda, depth, panel, bias, out, ldc);
  }
}

template <typename T>
inline void finish(const T* tile, std::int64_t rows, std::int64_t columns, Epilogue epilogue,
                   T* out, std::int64_t ldc) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* from = tile + r * kPanel<T>;
    T* to = out + r * ldc;
    if (epilogue == Epilogue::kGeluTanh) {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) to[j] = gelu_tanh(from[j]);
    } else if (epilogue == Epilogue::kSilu) {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) to[j] = silu(from[j]);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j];
    }
  }
}

// One panel's columns of rows [0, rows); full panels without epilogue are stored directly.
template <typename T>
inline void panel_rows(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t depth,
                       const T* panel, const T* bias, std::int64_t columns, Epilogue epilogue,
                       T* out, std::int64_t ldc) {
  const bool direct = columns == kPanel<T> && epilogue == Epilogue::kNone;
  T tile[kRowBlock * kPanel<T>];
  for (std::int64_t r = 0; r < rows; r += kRowBlock) {
    const std::int64_t block = rows - r < kRowBlock ? rows - r : kRowBlock;
    if (direct) {
      micro_rows(block, a + r * lda, lda, depth, panel, bias, out + r * ldc, ldc);
    } else {
      micro_rows(block, a + r * lda, lda, depth, panel, bias, tile, kPanel<T>);
      finish(tile, block, columns, epilogue, out + r * ldc, ldc);
    }
  }
}

template <typename T>
void pack(const T* weight, std::int64_t out, std::int64_t in, T* panels) {
  for (std::int64_t p = 0; p < panel_count<T>(out); ++p) {
    for (std::int64_t k = 0; k < in; ++k) {
      for (std::int64_t j = 0; j < kPanel<T>; ++j) {
        const std::int64_t row = p * kPanel<T> + j;
        *panels++ = row < out ? weight[row * in + k] : T(0);
      }
    }
  }
}

template <typename T>
void linear(const T* x, std::int64_t rows, const PackedWeights<T>& w, Epilogue epilogue, T* y,
            int threads) {
  const std::int64_t panels = panel_count<T>(w.out);
  constexpr std::int64_t kTileBytes = 192 * 1024;  // rows that stay in L2 while the panels pass by
  std::int64_t tile = kTileBytes / (w.in * static_cast<std::int64_t>(sizeof(T)));
  tile = tile < kRowBlock ? kRowBlock : tile / kRowBlock * kRowBlock;
  const bool parallel = threads > 1 && rows * w.in * w.out > 100000;
#pragma omp parallel for schedule(static) num_threads(threads) if (parallel)
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::int64_t first = p * kPanel<T>;
    const std::int64_t columns = w.out - first < kPanel<T> ? w.out - first : kPanel<T>;
    for (std::int64_t r = 0; r < rows; r += tile) {
      const std::int64_t block = rows - r < tile ? rows - r : tile;
      panel_rows(x + r * w.in, w.in, block, w.in, w.panels + p * w.in * kPanel<T>,
                 w.bias == nullptr ? nullptr : w.bias + first, columns, epilogue,
                 y + r * w.out + first, w.out);
    }
  }
}
