// Row-major out (M,N) = epilogue(x (M,K) . w (N,K)^T + bias (N)) through cuBLASLt, FP32 accumulation.
// A GemmLt belongs to one device and one host thread at a time. An algorithm is chosen once per shape,
// from the tuned table or the library's first heuristic, and never again inside a run, so equal calls
// give equal bits. Nothing here allocates on the device except the constructor's workspace.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ditar/kernels/dtype.h"

namespace ditar::cuda {

enum class GemmEpilogue : std::uint8_t { kNone, kBias, kGeluBias };

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kF16;  ///< of x, w, bias and out: kF32, kF16 or kBF16
  bool tf32 = false;          ///< kF32 only: multiply in TF32
  GemmEpilogue epilogue = GemmEpilogue::kBias;
  auto key() const { return std::make_tuple(m, n, k, dtype, tf32, epilogue); }
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

  /// Makes sure that an algorithm for `shape` is at hand, so that run() decides nothing.
  void prepare(const GemmShape& shape);
  /// Enqueues the product. @throws InvalidArgument if prepare(shape) was not called.
  void run(const GemmShape& shape, const void* x, const void* w, const void* bias, void* out,
           cudaStream_t stream);

  /// Times up to `candidates` algorithms on random data, weights cycled through more memory than L2
  /// holds so that each product reads them cold, and keeps the fastest. Blocks.
  GemmChoice tune(const GemmShape& shape, int candidates, cudaStream_t stream);

  /// The table's text form; its first line names the GPU and the library, and a table of another
  /// GPU or library is refused whole (false), never used.
  std::string save_table() const;
  bool load_table(const std::string& text);
  std::string table_key() const;

 private:
  struct Layouts;
  std::vector<cublasLtMatmulHeuristicResult_t> heuristics(const GemmShape& shape, int count) const;

  int device_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<GemmShape, GemmChoice> table_;
};

}  // namespace ditar::cuda
