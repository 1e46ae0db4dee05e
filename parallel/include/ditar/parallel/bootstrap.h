// Host bytes between ranks before any GPU link exists: who am I, and exchange of small blobs. One
// Bootstrap belongs to one rank; calls come from one thread at a time, and every rank makes the
// same calls in the same order.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace ditar {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// Every rank gives `mine` (any length) and gets all ranks' bytes in rank order. Blocks.
  /// @throws TimeoutError if a rank does not come within the bootstrap's deadline.
  virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) = 0;
  /// Rank `root`'s bytes replace everybody's `bytes`. Blocks.
  virtual void broadcast(std::vector<std::byte>& bytes, int root) = 0;
  virtual void barrier() = 0;
};

}  // namespace ditar
