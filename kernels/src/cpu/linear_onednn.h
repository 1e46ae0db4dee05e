// A packed FP32 product of oneDNN: y = x W^T + bias over any number of rows, on the calling thread.
// A primitive is made on the first run with a number of rows (at most kChunk) and kept; later runs
// allocate only the library's handles. Thread-safe. Internal to kernels.
#pragma once

#include <dnnl.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ditar::cpu {

class OnednnProduct {
 public:
  /// Rows that one run takes at most; chunks of this size keep x and y in the second-level cache.
  static constexpr std::int64_t kChunk = 96;

  /// @param weight (N, K) dense, copied   @param bias (N), copied; null for none
  /// @throws Error if the library cannot serve the shape on this CPU.
  OnednnProduct(const float* weight, const float* bias, std::int64_t n, std::int64_t k);

  /// Runs take a multiple of this many rows. The bits of a row are then the same whatever rows are
  /// beside it: 1 where the library's kernel keeps them by itself, else what its tails need.
  std::int64_t row_quantum() const noexcept { return row_quantum_; }
  std::int64_t packed_bytes() const noexcept { return packed_bytes_; }

  /// @param rows  multiple of row_quantum(), <= kChunk
  /// @param x (rows, K) dense   @param y (rows, N) dense, no overlap with x
  void run(const float* x, std::int64_t rows, float* y) const;

 private:
  struct Sized {
    explicit Sized(const dnnl::inner_product_forward::primitive_desc& description);
    dnnl::inner_product_forward primitive;
    dnnl::memory::desc x, y, scratch;
  };
  dnnl::inner_product_forward::primitive_desc describe(std::int64_t rows,
                                                       const dnnl::memory::desc& weight) const;
  const Sized& sized(std::int64_t rows) const;

  std::int64_t n_;
  std::int64_t k_;
  std::int64_t row_quantum_ = 1;
  std::int64_t packed_bytes_ = 0;
  dnnl::engine engine_;
  dnnl::memory weight_;
  dnnl::memory bias_;
  mutable std::mutex mutex_;                                             ///< of made_
  mutable std::array<std::unique_ptr<const Sized>, kChunk + 1> made_{};  ///< by rows
};

/// This thread's scratch of at least `size_bytes`, 64-byte aligned; valid until the next call of
/// the thread with the same slot (0 or more, few).
void* thread_scratch(int slot, std::int64_t size_bytes);

}  // namespace ditar::cpu
