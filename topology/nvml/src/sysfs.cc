#include "sysfs.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ditar::sysfs {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> integer_in(const fs::path& path) {
  const std::string line = first_line(path);
  char* end = nullptr;
  const long value = std::strtol(line.c_str(), &end, 10);
  if (line.empty() || end == line.c_str() || value < -1 || value > 1'000'000) return std::nullopt;
  return static_cast<int>(value);
}

/// "16.0 GT/s PCIe" to 4.
std::optional<int> generation_in(const fs::path& path) {
  const double speed = std::atof(first_line(path).c_str());
  int generation = 0;
  for (const double step : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
    if (speed >= step) ++generation;
  }
  return generation == 0 ? std::nullopt : std::optional<int>(generation);
}

std::optional<int> width_in(const fs::path& path) {
  const auto width = integer_in(path);
  return width && *width > 0 && *width <= 32 ? width : std::nullopt;
}

void lower(std::optional<int>& best, const std::optional<int>& value) {
  if (value && (!best || *value < *best)) best = value;
}

}  // namespace

std::string normal_pci(std::string bus_id) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t colon = bus_id.find(':');
  if (colon == 8 && bus_id.compare(0, 4, "0000") == 0) bus_id.erase(0, 4);
  return bus_id;
}

PciFacts read_pci(const std::string& root, const std::string& pci) {
  PciFacts facts;
  std::error_code error;
  fs::path device = fs::canonical(fs::path(root) / "bus/pci/devices" / pci, error);
  if (error) return facts;
  facts.found = true;
  facts.numa = integer_in(device / "numa_node");
  if (facts.numa && *facts.numa < 0) facts.numa.reset();
  facts.link.gen_now = generation_in(device / "current_link_speed");
  facts.link.width_now = width_in(device / "current_link_width");
  for (; fs::exists(device / "max_link_width", error); device = device.parent_path()) {
    lower(facts.link.gen_best, generation_in(device / "max_link_speed"));
    lower(facts.link.width_best, width_in(device / "max_link_width"));
  }
  return facts;
}

std::vector<std::string> nvidia_devices(const std::string& root) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "bus/pci/devices", error)) {
    const std::string type = first_line(entry.path() / "class").substr(0, 6);
    const bool display = type == "0x0300" || type == "0x0302";
    if (display && first_line(entry.path() / "vendor") == "0x10de") {
      found.push_back(entry.path().filename().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string cpu_vendor(const std::string& proc_root) {
  std::ifstream file(fs::path(proc_root) / "cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("vendor_id", 0) != 0) continue;
    if (line.find("AuthenticAMD") != std::string::npos) return "amd";
    if (line.find("GenuineIntel") != std::string::npos) return "intel";
    return "";
  }
  return "";
}

std::string command_of(const std::string& proc_root, unsigned pid) {
  return first_line(fs::path(proc_root) / std::to_string(pid) / "comm");
}

}  // namespace ditar::sysfs
