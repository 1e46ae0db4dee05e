// Data-checked probe of peer copies: finds links that hang, corrupt or fail within a deadline, and
// fits the cost of the good ones. The copies themselves are behind PeerCopier, so the logic is
// tested without a GPU. One thread; blocks for at most deadline x copies.
#pragma once

#include "ditar/topology/graph.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

enum class CopyState : std::uint8_t { kArrived, kTimeout, kFailed };

struct CopyReport {
  CopyState state = CopyState::kFailed;
  double seconds = 0.0;  ///< of the copy alone, if it arrived
  /// First byte of the destination (the guards before and after it included, so it may lie outside
  /// the copied range) that is not what it must be.
  std::optional<std::int64_t> first_bad_offset;
  std::string detail;  ///< the vendor's word for a failure
};

/// One copy between two GPUs, named by UUID. After a copy that timed out the copier may be stuck
/// and must only be destroyed, or the process ended.
class PeerCopier {
 public:
  virtual ~PeerCopier() = default;
  /// UUIDs of the devices it can reach.
  virtual std::vector<std::string> devices() const = 0;
  /// Fills `bytes` at `offset` on `from` with a pattern of position and `seed`, copies them to the
  /// same place on `to`, and compares every byte there and the guards around. Returns by
  /// `deadline`.
  virtual CopyReport copy(const std::string& from, const std::string& to, std::size_t bytes,
                          std::size_t offset, std::uint32_t seed,
                          std::chrono::milliseconds deadline) = 0;
};

struct ProbeOptions {
  /// Copied in this order, each `repeats` times; the least time counts for the fit.
  std::vector<std::size_t> sizes{4,         4096,      65'536,     262'144,
                                 1'048'576, 4'194'304, 16'777'216, 67'108'864};
  int repeats = 5;
  std::size_t odd_offset = 3;  ///< every size is also copied once from an unaligned place
  std::chrono::milliseconds deadline{3000};
};

/// Probes every pair of `graph` whose GPUs `copier` reaches, each direction: sets `probed` and
/// `reason`, and `cost` (measured, of the slower direction) where both directions are good. A
/// direction that is declared not to work is not tried. After a timeout nothing more is copied:
/// the remaining directions stay unprobed, with the reason, as the device may be stuck.
/// @throws InvalidArgument for fewer than 3 sizes or less than 1 repeat.
void probe_peers(PeerCopier& copier, TopologyGraph& graph, const ProbeOptions& options = {});

/// What to set for ranks on `gpus` so that NCCL keeps off refused peer access: empty, or
/// NCCL_P2P_DISABLE=1. `reason`, if given, receives the first refusal's sentence.
std::map<std::string, std::string> peer_environment(const TopologyGraph& graph,
                                                    const std::vector<int>& gpus,
                                                    std::string* reason = nullptr);

/// Copies through CUDA peer access. @throws Unavailable in a build without CUDA or with fewer than
/// two CUDA devices.
std::unique_ptr<PeerCopier> make_cuda_copier(std::size_t largest_bytes);

}  // namespace ditar
