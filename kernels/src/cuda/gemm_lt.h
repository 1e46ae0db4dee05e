// Row-major out (M,N) = epilogue(x (M,K) . w (N,K)^T + bias (N)) through cuBLASLt, FP32
// accumulation. A GemmLt belongs to one device; thread-safe. An algorithm is chosen once per shape,
// from the tuned table or else the library's first heuristic, and kept, so equal calls give equal
// bits. run() and prepare() allocate nothing on the device and may run inside a stream capture;
// tune() allocates.
#pragma once

#include "ditar/kernels/dtype.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace ditar::cuda {

enum class GemmEpilogue : std::uint8_t { kNone, kBias, kGeluBias };

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t x_stride = 0, y_stride = 0;  ///< elements from row to row of x and out
  DType dtype = DType::kF16;                ///< of x, w, bias and out: kF32, kF16 or kBF16
  bool tf32 = false;                        ///< kF32 only: multiply in TF32
  GemmEpilogue epilogue = GemmEpilogue::kBias;
  auto key() const { return std::make_tuple(m, n, k, x_stride, y_stride, dtype, tf32, epilogue); }
  friend bool operator<(const GemmShape& a, const GemmShape& b) { return a.key() < b.key(); }
};

/// One measured or proposed algorithm.
struct GemmChoice {
  cublasLtMatmulAlgo_t algorithm{};
  double microseconds = 0.0;  ///< 0: not measured
  bool tuned = false;
};

class GemmLt {
 public:
  static constexpr std::size_t kWorkspaceBytes = 32U << 20;

  explicit GemmLt(int device);
  ~GemmLt();
  GemmLt(const GemmLt&) = delete;
  GemmLt& operator=(const GemmLt&) = delete;

  /// Makes sure that an algorithm for `shape` is at hand.
  void prepare(const GemmShape& shape);
  /// Enqueues the product, preparing the shape if need be.
  /// @param workspace kWorkspaceBytes, 256-byte aligned; one per stream
  void run(const GemmShape& shape, const void* x, const void* w, const void* bias, void* out,
           void* workspace, cudaStream_t stream);

  /// Times up to `candidates` algorithms on random data, weights cycled through more memory than L2
  /// holds so that each product reads them cold, and keeps the fastest. Blocks.
  /// @throws CublasError if none of them ran.
  GemmChoice tune(const GemmShape& shape, int candidates, cudaStream_t stream);

  /// The table's text form; its first line names the GPU and the library, and a table of another
  /// GPU or library is refused whole (false), never used.
  std::string save_table() const;
  bool load_table(const std::string& text);
  std::string table_key() const;
  /// Every shape that was prepared, run or tuned so far.
  std::vector<GemmShape> shapes() const;

 private:
  struct Layouts;
  std::vector<cublasLtMatmulHeuristicResult_t> heuristics(const GemmShape& shape, int count) const;
  void enqueue(const GemmShape& shape, const cublasLtMatmulAlgo_t& algorithm, const void* x,
               const void* w, const void* bias, void* out, void* workspace,
               cudaStream_t stream) const;

  int device_;
  cublasLtHandle_t handle_ = nullptr;
  mutable std::mutex mutex_;  ///< guards table_
  std::map<GemmShape, GemmChoice> table_;
};

}  // namespace ditar::cuda
