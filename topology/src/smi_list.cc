#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"
#include "text.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace ditar {
namespace {

/// Reads from the front of a line; every step takes what it names or fails.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  bool literal(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool number(int& value) {
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0 || digits > 4) return false;
    value = std::stoi(std::string(rest_.substr(0, digits)));
    rest_.remove_prefix(digits);
    return true;
  }
  /// Everything before the last `mark`.
  bool until_last(std::string_view mark, std::string& value) {
    const std::size_t at = rest_.rfind(mark);
    if (at == std::string_view::npos || at == 0) return false;
    value = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return true;
  }
  bool word(std::string& value) {
    value = rest_.substr(0, std::min(rest_.find(' '), rest_.size()));
    rest_.remove_prefix(value.size());
    return !value.empty();
  }
  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// "GPU-0a1b-..." or "MIG-..." without blanks and brackets.
bool is_uuid(std::string_view uuid, std::string_view prefix) {
  return uuid.size() > prefix.size() && uuid.substr(0, prefix.size()) == prefix &&
         uuid.find_first_of(" ()\t") == std::string_view::npos;
}

/// "GPU 0: NVIDIA RTX A5500 (UUID: GPU-0a)".
std::optional<GpuListing> read_gpu(const std::string& line) {
  GpuListing gpu;
  Cursor cursor(line);
  if (!cursor.literal("GPU ") || !cursor.number(gpu.index) || !cursor.literal(": ") ||
      !cursor.until_last(" (UUID: ", gpu.name) || !cursor.literal(" (UUID: ") ||
      !cursor.until_last(")", gpu.uuid) || cursor.rest() != ")" || !is_uuid(gpu.uuid, "GPU-")) {
    return std::nullopt;
  }
  return gpu;
}

/// "MIG 1g.10gb     Device  2: (UUID: MIG-0a)".
std::optional<MigInstance> read_mig(const std::string& line) {
  MigInstance mig;
  Cursor cursor(line);
  if (!cursor.literal("MIG ") || !cursor.word(mig.profile)) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("Device")) return std::nullopt;
  cursor.blanks();
  if (!cursor.number(mig.device) || !cursor.literal(": (UUID: ") ||
      !cursor.until_last(")", mig.uuid) || cursor.rest() != ")" || !is_uuid(mig.uuid, "MIG-")) {
    return std::nullopt;
  }
  return mig;
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

/// "Link 3: 14.062 GB/s" or "Link 3: <inactive>".
void add_link_line(const std::string& line, std::size_t number, NvlinkStatus& status) {
  int link = 0;
  Cursor cursor(line);
  if (!cursor.literal("Link ") || !cursor.number(link) || !cursor.literal(": ")) {
    refuse("nvidia-smi nvlink -s", number, line);
  }
  double speed = 0.0;
  if (cursor.rest() != "<inactive>" && cursor.rest() != "inactive") {
    std::string digits;
    const bool read = cursor.until_last(" GB/s", digits) && cursor.rest() == " GB/s";
    char* end = nullptr;
    speed = std::strtod(digits.c_str(), &end);
    if (!read || *end != '\0' || !(speed > 0.0) || speed > 1e4) {
      refuse("nvidia-smi nvlink -s", number, line);
    }
  }
  if (static_cast<std::size_t>(link) != status.link_gb_per_s.size()) {
    throw DataError("nvidia-smi nvlink -s: line " + std::to_string(number) + ": link " +
                    std::to_string(link) + " where link " +
                    std::to_string(status.link_gb_per_s.size()) +
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
