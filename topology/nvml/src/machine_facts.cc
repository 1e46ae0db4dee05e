#include "ditar/topology_nvml/machine_facts.h"

#include "ditar/config/error.h"
#include "ditar/topology/device_model.h"
#include "gpu_facts.h"
#include "nvml_api.h"
#include "sysfs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ditar {
namespace {

using nvml::Api;
using nvml::Device;

std::string system_text(int (*function)(char*, unsigned)) {
  std::array<char, 96> buffer{};
  if (!function ||
      function(buffer.data(), static_cast<unsigned>(buffer.size())) != nvml::kSuccess) {
    return "";
  }
  buffer.back() = '\0';
  return buffer.data();
}

/// Active NVLinks of one GPU: to each peer by PCI address, and all others (to switches).
struct NvlinkEnds {
  int active = 0;
  std::vector<std::string> remotes;
};

NvlinkEnds read_nvlinks(const Api& api, Device device) {
  NvlinkEnds ends;
  if (!api.link_state) return ends;
  for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
    int active = 0;
    const int code = api.link_state(device, link, &active);
    if (code == nvml::kNotSupported || code == nvml::kInvalidArgument) break;
    if (code != nvml::kSuccess || active == 0) continue;
    ++ends.active;
    nvml::PciInfo remote{};
    int type = nvml::kRemoteGpu;
    if (api.link_remote_type) api.link_remote_type(device, link, &type);
    const bool known = type == nvml::kRemoteGpu && api.link_remote &&
                       api.link_remote(device, link, &remote) == nvml::kSuccess;
    ends.remotes.push_back(
        known ? sysfs::normal_pci(std::string(remote.bus_id, strnlen(remote.bus_id, 32)))
              : std::string());
  }
  return ends;
}

PeerStatus peer_status(const Api& api, Device from, Device to) {
  // Both reading and writing must be declared good, as NCCL asks for.
  PeerStatus result = PeerStatus::kOk;
  for (const int capability : {nvml::kP2pRead, nvml::kP2pWrite}) {
    int status = 6;
    if (!api.p2p_status || api.p2p_status(from, to, capability, &status) != nvml::kSuccess) {
      return PeerStatus::kUnknown;
    }
    constexpr std::array<PeerStatus, 6> kMeaning{PeerStatus::kOk,
                                                 PeerStatus::kChipsetNotSupported,
                                                 PeerStatus::kGpuNotSupported,
                                                 PeerStatus::kTopologyNotSupported,
                                                 PeerStatus::kDisabledByRegkey,
                                                 PeerStatus::kNotSupported};
    if (status < 0 || status > 5) return PeerStatus::kUnknown;
    if (status != 0) result = kMeaning[static_cast<std::size_t>(status)];
  }
  return result;
}

std::optional<Path> pcie_path(const Api& api, Device a, Device b) {
  int level = -1;
  if (!api.common_ancestor || api.common_ancestor(a, b, &level) != nvml::kSuccess) {
    return std::nullopt;
  }
  switch (level) {
    case 0:
    case 10:
      return Path{PathType::kPix, 0};
    case 20:
      return Path{PathType::kPxb, 0};
    case 30:
      return Path{PathType::kPhb, 0};
    case 40:
      return Path{PathType::kNode, 0};
    case 50:
      return Path{PathType::kSys, 0};
    default:
      return std::nullopt;
  }
}

class MachineReader {
 public:
  MachineReader(const MachineSources& sources, MachineFacts& facts)
      : sources_(sources), facts_(facts), library_(sources.nvml_library), api_(library_.api()) {}

  void read() {
    facts_.driver = true;
    facts_.driver_version = system_text(api_.driver_version);
    facts_.nvml_version = system_text(api_.nvml_version);
    int cuda = 0;
    if (api_.cuda_version && api_.cuda_version(&cuda) == nvml::kSuccess) {
      facts_.cuda_version = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
    }
    facts_.graph.hosts[0].driver_version = facts_.driver_version;
    read_devices();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      for (std::size_t j = i + 1; j < devices_.size(); ++j) read_pair(i, j);
    }
  }

 private:
  void read_devices() {
    unsigned count = 0;
    const int code = api_.count(&count);
    if (code != nvml::kSuccess) {
      facts_.notes.push_back("NVML cannot count the GPUs: " + nvml::reason(code));
      return;
    }
    if (count == 0) facts_.notes.emplace_back("the driver is loaded, but there is no GPU");
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      const int found = api_.handle(i, &device);
      if (found != nvml::kSuccess) {
        facts_.notes.push_back("GPU " + std::to_string(i) +
                               " cannot be opened: " + nvml::reason(found));
        continue;
      }
      add_gpu(device, static_cast<int>(i));
    }
  }

  void add_gpu(Device device, int index) {
    GpuFacts facts = nvml::read_gpu(api_, device, index, sources_.proc_root);
    NvlinkEnds ends = read_nvlinks(api_, device);
    facts.nvlinks_active = ends.active;
    Gpu gpu;
    gpu.index = index;
    gpu.name = facts.name;
    gpu.uuid = facts.uuid;
    gpu.pci = facts.pci;
    gpu.mig = facts.mig.value_or(false);
    if (facts.memory_total_bytes) {
      gpu.memory_bytes = static_cast<std::int64_t>(*facts.memory_total_bytes);
    }
    const sysfs::PciFacts slot = sysfs::read_pci(sources_.sysfs_root, facts.pci);
    gpu.numa = slot.numa;
    if (slot.numa) gpu.numa_affinity = std::to_string(*slot.numa);
    gpu.pcie = merge(nvml::read_pcie(api_, device), slot.link);
    if (gpu.mig) {
      facts_.notes.push_back("GPU " + std::to_string(index) +
                             " is in MIG mode: it cannot be one of several ranks");
    }
    devices_.push_back(device);
    nvlinks_.push_back(std::move(ends));
    facts_.graph.gpus.push_back(std::move(gpu));
    facts_.gpus.push_back(std::move(facts));
  }

  /// NVML's word for the state now; the lesser of both for the best, as the slot may be narrower.
  static PcieState merge(PcieState nvml, const PcieState& sys) {
    const auto least = [](std::optional<int> x, std::optional<int> y) {
      return x && y ? std::optional<int>(std::min(*x, *y)) : (x ? x : y);
    };
    return {nvml.gen_now ? nvml.gen_now : sys.gen_now, least(nvml.gen_best, sys.gen_best),
            nvml.width_now ? nvml.width_now : sys.width_now,
            least(nvml.width_best, sys.width_best)};
  }

  void read_pair(std::size_t i, std::size_t j) {
    const Gpu& a = facts_.graph.gpus[i];
    const Gpu& b = facts_.graph.gpus[j];
    Link link;
    link.a = a.index;
    link.b = b.index;
    link.a_to_b.declared = peer_status(api_, devices_[i], devices_[j]);
    link.b_to_a.declared = peer_status(api_, devices_[j], devices_[i]);
    const std::string pair = "GPU " + std::to_string(a.index) + " and " + std::to_string(b.index);
    if (const int bonded = bonded_links(i, j)) {
      link.path = {PathType::kNvl, bonded};
      const DeviceModel* model = find_device_model(a.name);
      if (model && bonded < model->links_best) {
        facts_.notes.push_back(pair + ": " + std::to_string(bonded) + " of " +
                               std::to_string(model->links_best) +
                               " NVLinks are up; check how the bridge is seated");
      }
    } else if (const auto path = pcie_path(api_, devices_[i], devices_[j])) {
      link.path = *path;
    } else {
      facts_.notes.push_back(pair + ": the driver does not tell the path; SYS is assumed");
    }
    facts_.graph.links.push_back(std::move(link));
  }

  /// NVLinks between two GPUs, straight or through switches.
  int bonded_links(std::size_t i, std::size_t j) const {
    const auto& remotes = nvlinks_[i].remotes;
    const auto straight = std::count(remotes.begin(), remotes.end(), facts_.graph.gpus[j].pci);
    if (straight > 0 && !facts_.graph.gpus[j].pci.empty()) return static_cast<int>(straight);
    const auto through = [this](std::size_t gpu) {
      const auto& all = nvlinks_[gpu].remotes;
      return static_cast<int>(std::count(all.begin(), all.end(), std::string()));
    };
    int status = -1;
    const bool reachable =
        api_.p2p_status &&
        api_.p2p_status(devices_[i], devices_[j], nvml::kP2pNvlink, &status) == nvml::kSuccess &&
        status == 0;
    return reachable ? std::min(through(i), through(j)) : 0;
  }

  const MachineSources& sources_;
  MachineFacts& facts_;
  nvml::Library library_;
  const Api& api_;
  std::vector<Device> devices_;
  std::vector<NvlinkEnds> nvlinks_;
};

std::string host_name() {
  std::array<char, 256> buffer{};
  return gethostname(buffer.data(), buffer.size() - 1) == 0 ? buffer.data() : "";
}

}  // namespace

MachineFacts read_machine(const MachineSources& sources) {
  MachineFacts facts;
  facts.graph.source = "NVML and sysfs";
  facts.graph.hosts.push_back({host_name(), sysfs::cpu_vendor(sources.proc_root), ""});
  try {
    MachineReader(sources, facts).read();
  } catch (const Unavailable& error) {
    facts.notes.push_back(error.message());
    for (const std::string& pci : sysfs::nvidia_devices(sources.sysfs_root)) {
      facts.notes.push_back("an NVIDIA GPU is on the PCI bus at " + pci +
                            ", but no driver serves it");
    }
  }
  facts.graph.notes = facts.notes;
  for (const GpuFacts& gpu : facts.gpus) {
    for (const std::string& missing : gpu.missing) {
      facts.graph.notes.push_back("GPU " + std::to_string(gpu.index) + " " + missing);
    }
  }
  return facts;
}

}  // namespace ditar
