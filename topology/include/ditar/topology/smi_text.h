// Readers of what `nvidia-smi` prints: `topo -m` of any vintage, `-L` and `nvlink -s`. Pure
// functions of text; thread-safe. A text is read whole and right, or refused with a DataError that
// names line, row and column; nothing is guessed.
#pragma once

#include "ditar/topology/graph.h"

#include <string>
#include <string_view>
#include <vector>

namespace ditar {

/// Drops terminal escape sequences (also those whose ESC byte a paste lost), carriage returns and a
/// byte order mark.
std::string strip_terminal_codes(std::string_view text);

/// Reads the matrix of `nvidia-smi topo -m`: tabs or blanks, rows and columns in any order, NIC
/// columns, old vocabulary, empty or ranged affinities, comment lines, quoted or fenced pastes. The
/// GPU block must be whole and symmetric; faults in NIC cells right of it become notes.
/// @throws DataError if it is truncated, glued inside the GPU block, a hand-made table, an error
/// text, or holds no matrix.
TopologyGraph parse_topo_matrix(std::string_view text);

struct MigInstance {
  std::string profile, uuid;
  int device = 0;
};
struct GpuListing {
  int index = 0;
  std::string name, uuid;
  std::vector<MigInstance> mig;
};
/// Reads `nvidia-smi -L`. @throws DataError naming the line that is not understood.
std::vector<GpuListing> parse_gpu_list(std::string_view text);

struct NvlinkStatus {
  GpuListing gpu;
  bool supported = true;  ///< false: the board has no NVLink
  /// GB/s of one direction per link number; 0 where the link is inactive. Empty: no bridge fitted,
  /// which is a normal state.
  std::vector<double> link_gb_per_s;
  int active() const noexcept;
};
/// Reads `nvidia-smi nvlink -s`. @throws DataError naming the line that is not understood.
std::vector<NvlinkStatus> parse_nvlink_status(std::string_view text);

/// A graph of the listed GPUs without links; a partitioned GPU is marked and noted.
TopologyGraph graph_of(const std::vector<GpuListing>& gpus);

}  // namespace ditar
