#include "ditar/topology/topology_file.h"

#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"
#include "text.h"

#include <fstream>
#include <iterator>

namespace ditar {
namespace {

/// Links between the listed GPUs stay unknown: `nvlink -s` says how many a card has, not to whom.
TopologyGraph graph_of_status(const std::vector<NvlinkStatus>& all) {
  std::vector<GpuListing> gpus;
  for (const NvlinkStatus& status : all) gpus.push_back(status.gpu);
  TopologyGraph graph = graph_of(gpus);
  graph.source = "nvidia-smi nvlink -s";
  for (const NvlinkStatus& status : all) {
    const std::string who = "GPU " + std::to_string(status.gpu.index);
    const int active = status.active();
    const auto known = static_cast<int>(status.link_gb_per_s.size());
    if (!status.supported) {
      graph.notes.push_back(who + ": NVLink none (the board has no NVLink)");
    } else if (active == 0) {
      graph.notes.push_back(who + ": NVLink none (no bridge is fitted, or all links are down)");
    } else {
      graph.notes.push_back(who + ": NVLink " + std::to_string(active) + " of " +
                            std::to_string(known) + " links active" +
                            (active < known ? "; check how the bridge is seated" : ""));
    }
  }
  return graph;
}

}  // namespace

TopologyGraph read_topology(std::string_view raw) {
  const std::string clean = strip_terminal_codes(raw);
  bool list = false;
  bool nvlink = false;
  for (const std::string& line : text::lines(clean)) {
    const std::string_view bare = text::trim(line);
    if (bare.empty() || bare.front() == '#') continue;
    if (!list && bare.front() == '{') return from_topology_json(clean);
    if (bare.substr(0, 4) == "GPU " && bare.find("(UUID: ") != std::string_view::npos) list = true;
    nvlink =
        nvlink ||
        (list && (bare.substr(0, 5) == "Link " || bare.find("Nvlink") != std::string_view::npos));
  }
  if (nvlink) return graph_of_status(parse_nvlink_status(raw));
  return list ? graph_of(parse_gpu_list(raw)) : parse_topo_matrix(raw);
}

TopologyGraph load_topology(const std::filesystem::path& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) {
    throw IoError(path.string() + " is a folder; give a topology file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(path.string() + " cannot be read; check the path and its permissions");
  const std::string raw{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return read_topology(raw);
  } catch (const DataError& error) {
    throw DataError(path.string() + ": " + error.message());
  }
}

}  // namespace ditar
