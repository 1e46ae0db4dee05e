// What lies between two devices, in the words of `nvidia-smi topo -m` and NCCL. Value types;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ditar {

/// From near to far: itself, bonded NVLinks, at most one PCIe switch, several switches, one host
/// bridge, several host bridges of one NUMA node, the link between sockets, the network.
enum class PathType : std::uint8_t { kSelf, kNvl, kPix, kPxb, kPhb, kNode, kSys, kNet };

struct Path {
  PathType type = PathType::kSys;
  int nvlinks = 0;  ///< bonded NVLinks; 0 unless type is kNvl
  friend bool operator==(const Path&, const Path&) = default;
};

/// "X", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS" or "NET".
std::string to_string(Path path);

/// Reads one cell. "SOC", the word of 2015's drivers for SYS, is accepted. Case counts. Nothing
/// for anything else ("NV0", "SYSSYS", "phb").
std::optional<Path> parse_path(std::string_view text) noexcept;

}  // namespace ditar
