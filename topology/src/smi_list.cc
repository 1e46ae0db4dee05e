#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"
#include "text.h"

#include <algorithm>
#include <optional>
#include <regex>

namespace ditar {
namespace {

const std::regex& gpu_line() {
  static const std::regex kLine(R"(^GPU (\d{1,4}): (.+) \(UUID: (GPU-[0-9a-fA-F-]+)\)$)");
  return kLine;
}

std::optional<GpuListing> read_gpu(const std::string& line) {
  std::smatch match;
  if (!std::regex_match(line, match, gpu_line())) return std::nullopt;
  return GpuListing{std::stoi(match[1]), match[2], match[3], {}};
}

std::optional<MigInstance> read_mig(const std::string& line) {
  static const std::regex kLine(R"(^MIG (\S+)\s+Device\s+(\d{1,4}): \(UUID: (MIG-\S+)\)$)");
  std::smatch match;
  if (!std::regex_match(line, match, kLine)) return std::nullopt;
  return MigInstance{match[1], match[3], std::stoi(match[2])};
}

/// The text's lines, trimmed, with their numbers; comments and fences left out.
std::vector<std::pair<std::size_t, std::string>> payload_lines(std::string_view raw) {
  std::vector<std::pair<std::size_t, std::string>> kept;
  const auto all = text::lines(strip_terminal_codes(raw));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view line = text::trim(all[i]);
    if (!line.empty() && line.front() != '#' && line.substr(0, 3) != "```") {
      kept.emplace_back(i + 1, line);
    }
  }
  return kept;
}

[[noreturn]] void refuse(std::string_view what, std::size_t number, std::string_view line) {
  throw DataError(std::string(what) + ": line " + std::to_string(number) +
                  " is not understood: " + text::quote(line));
}

void require_unique(const std::vector<int>& indices, std::string_view what) {
  for (auto it = indices.begin(); it != indices.end(); ++it) {
    if (std::find(indices.begin(), it, *it) != it) {
      throw DataError(std::string(what) + ": GPU " + std::to_string(*it) + " appears twice");
    }
  }
}

void add_link_line(const std::string& line, std::size_t number, NvlinkStatus& status) {
  static const std::regex kActive(R"(^Link (\d{1,2}): (\d+(?:\.\d+)?) GB/s$)");
  static const std::regex kInactive(R"(^Link (\d{1,2}): <?inactive>?$)", std::regex::icase);
  std::smatch match;
  double speed = 0.0;
  if (std::regex_match(line, match, kActive)) {
    speed = std::stod(match[2]);
  } else if (!std::regex_match(line, match, kInactive)) {
    refuse("nvidia-smi nvlink -s", number, line);
  }
  if (std::stoul(match[1]) != status.link_gb_per_s.size()) {
    throw DataError("nvidia-smi nvlink -s: line " + std::to_string(number) + ": link " +
                    match[1].str() + " where link " + std::to_string(status.link_gb_per_s.size()) +
                    " should follow; the paste is damaged");
  }
  status.link_gb_per_s.push_back(speed);
}

}  // namespace

int NvlinkStatus::active() const noexcept {
  return static_cast<int>(std::count_if(link_gb_per_s.begin(), link_gb_per_s.end(),
                                        [](double speed) { return speed > 0.0; }));
}

std::vector<GpuListing> parse_gpu_list(std::string_view raw) {
  std::vector<GpuListing> gpus;
  std::vector<int> indices;
  for (const auto& [number, line] : payload_lines(raw)) {
    if (auto gpu = read_gpu(line)) {
      indices.push_back(gpu->index);
      gpus.push_back(std::move(*gpu));
    } else if (auto mig = read_mig(line); mig && !gpus.empty()) {
      gpus.back().mig.push_back(std::move(*mig));
    } else if (line.find("No devices") == std::string::npos) {
      refuse("nvidia-smi -L", number, line);
    }
  }
  require_unique(indices, "nvidia-smi -L");
  return gpus;
}

std::vector<NvlinkStatus> parse_nvlink_status(std::string_view raw) {
  std::vector<NvlinkStatus> all;
  std::vector<int> indices;
  for (const auto& [number, line] : payload_lines(raw)) {
    if (auto gpu = read_gpu(line)) {
      indices.push_back(gpu->index);
      all.push_back({std::move(*gpu), true, {}});
    } else if (all.empty()) {
      refuse("nvidia-smi nvlink -s", number, line);
    } else if (line.find("does not have or support") != std::string::npos) {
      all.back().supported = false;
    } else if (line.find("all links are inActive") == std::string::npos) {
      add_link_line(line, number, all.back());
    }
  }
  if (all.empty()) throw DataError("nvidia-smi nvlink -s: the text names no GPU");
  require_unique(indices, "nvidia-smi nvlink -s");
  return all;
}

TopologyGraph graph_of(const std::vector<GpuListing>& gpus) {
  TopologyGraph graph;
  graph.source = "nvidia-smi -L";
  graph.hosts.push_back({});
  for (const GpuListing& listing : gpus) {
    Gpu gpu;
    gpu.index = listing.index;
    gpu.name = listing.name;
    gpu.uuid = listing.uuid;
    gpu.mig = !listing.mig.empty();
    if (gpu.mig) {
      graph.notes.push_back("GPU " + std::to_string(gpu.index) + " is partitioned into " +
                            std::to_string(listing.mig.size()) +
                            " MIG instances: it cannot be one of several ranks");
    }
    graph.gpus.push_back(std::move(gpu));
  }
  graph.notes.emplace_back("a GPU list holds no links");
  graph.validate();
  return graph;
}

}  // namespace ditar
