// The graph of hosts, GPUs and links that everything else reads: filled by a parser, by NVML and
// sysfs, by a probe, or from a saved file. Value types, no device access; not synchronised.
#pragma once

#include "ditar/topology/path.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// Where a number comes from. Shown wherever the number is shown.
enum class Origin : std::uint8_t { kUnknown, kModelled, kMeasured };

/// What the driver declares about peer access in one direction.
enum class PeerStatus : std::uint8_t {
  kUnknown,
  kOk,
  kChipsetNotSupported,
  kGpuNotSupported,
  kTopologyNotSupported,
  kDisabledByRegkey,
  kNotSupported
};

/// What a data-checked copy showed. A declared "ok" alone never proves peer access.
enum class ProbeResult : std::uint8_t { kNotProbed, kOk, kTimeout, kCorrupt, kFailed };

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPointToPoint
};

std::string_view to_string(Origin origin) noexcept;
std::string_view to_string(PeerStatus status) noexcept;
std::string_view to_string(ProbeResult result) noexcept;
std::string_view to_string(Collective collective) noexcept;
std::optional<Origin> parse_origin(std::string_view text) noexcept;
std::optional<PeerStatus> parse_peer_status(std::string_view text) noexcept;
std::optional<ProbeResult> parse_probe_result(std::string_view text) noexcept;
std::optional<Collective> parse_collective(std::string_view text) noexcept;

struct PeerAccess {
  PeerStatus declared = PeerStatus::kUnknown;
  ProbeResult probed = ProbeResult::kNotProbed;
  std::string reason;  ///< why it is off, or what the probe saw; may be empty
  /// True only where a data-checked copy succeeded and nothing declared against it.
  bool proven() const noexcept;
  /// True where it is known not to work.
  bool refused() const noexcept;
  friend bool operator==(const PeerAccess&, const PeerAccess&) = default;
};

/// time(bytes) = alpha_us + bytes / bandwidth. Bandwidth is of one direction, 1 GB = 1e9 bytes.
struct LinkCost {
  double alpha_us = 0.0;
  double bandwidth_gb_per_s = 0.0;
  double residual = 0.0;  ///< root mean square of the relative error of the fit; 0 if modelled
  Origin origin = Origin::kUnknown;
  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

struct Host {
  std::string name;
  std::string cpu_vendor;      ///< "amd", "intel" or empty
  std::string driver_version;  ///< empty if there is none
  friend bool operator==(const Host&, const Host&) = default;
};

/// Width and generation now (may be lower at idle) and the best that card and slot can do.
struct PcieState {
  std::optional<int> gen_now, gen_best, width_now, width_best;
  friend bool operator==(const PcieState&, const PcieState&) = default;
};

struct Gpu {
  int index = 0;  ///< unique in the graph
  int host = 0;   ///< position in TopologyGraph::hosts
  std::string uuid, pci, name;
  std::optional<int> numa;    ///< the node, where it is exactly one
  std::string numa_affinity;  ///< as printed: "0", "0-3", "0,8,252-255"
  std::string cpu_affinity;   ///< as printed: "0-31,64-95"
  PcieState pcie;
  std::optional<std::int64_t> memory_bytes;
  bool mig = false;  ///< partitioned: no use as one rank of several
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// A pair, a < b by GPU index.
struct Link {
  int a = 0, b = 0;
  Path path;
  PeerAccess a_to_b, b_to_a;
  std::optional<LinkCost> cost;  ///< of a copy from a to b
  friend bool operator==(const Link&, const Link&) = default;
};

/// A fitted or modelled cost of one collective over a group of GPUs. `gpus` holds GPU indices.
struct CollectiveCost {
  Collective collective = Collective::kAllReduce;
  std::vector<int> gpus;
  std::string transport;  ///< how the bytes went: "nvlink", "pcie peer", "host", ... ; may be empty
  LinkCost cost;
  friend bool operator==(const CollectiveCost&, const CollectiveCost&) = default;
};

struct TopologyGraph {
  std::string source;  ///< what it was read from, for the reader
  std::vector<Host> hosts;
  std::vector<Gpu> gpus;
  std::vector<Link> links;
  std::vector<CollectiveCost> collectives;
  std::vector<std::string> notes;  ///< what is missing or odd, one sentence each

  const Gpu* find_gpu(int index) const noexcept;
  const Link* find_link(int a, int b) const noexcept;
  Link* find_link(int a, int b) noexcept;
  /// The measured or modelled cost of `collective` over exactly `group`, or null.
  const CollectiveCost* find_collective(Collective collective,
                                        const std::vector<int>& group) const noexcept;
  /// @throws DataError naming the first fault: repeated indices or UUIDs, a link to a GPU that is
  /// not there, a pair twice, numbers that cannot be.
  void validate() const;
  friend bool operator==(const TopologyGraph&, const TopologyGraph&) = default;
};

}  // namespace ditar
