#include "launch_fence.h"

#include <unistd.h>

#include <algorithm>

namespace ditar {
namespace {

constexpr std::int64_t kMostFileBytes = std::int64_t{8} << 30;
constexpr std::int64_t kMostProcesses = 4096;

std::vector<std::filesystem::path> nvidia_devices() {
  std::vector<std::filesystem::path> found;
  std::error_code fault;
  for (auto it = std::filesystem::directory_iterator("/dev", fault);
       !fault && it != std::filesystem::directory_iterator(); it.increment(fault)) {
    if (it->path().filename().string().starts_with("nvidia") && !it->is_directory()) {
      found.push_back(it->path());
    }
  }
  if (std::filesystem::exists("/dev/nvidia-caps", fault)) found.emplace_back("/dev/nvidia-caps");
  return found;
}

std::int64_t machine_memory() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

std::vector<std::string> launch_fence(const LaunchPlan& plan, const std::string& mpirun,
                                      const std::filesystem::path& temporary) {
  FencePlan fence;
  fence.readable = plan.readable;
  fence.readable.push_back(plan.worker.parent_path());
  add_program_folders(fence, mpirun);
  for (const std::string& name : plan.environment_allow) {
    if (name == "LD_LIBRARY_PATH") add_search_path(fence, ::getenv(name.c_str()));
  }
  fence.writable = {temporary};
  fence.file_bytes = kMostFileBytes;
  fence.processes = kMostProcesses;
  const bool gpu = std::any_of(plan.placements.begin(), plan.placements.end(),
                               [](const RankPlacement& rank) { return rank.device != "cpu"; });
  if (gpu) {
    fence.devices = nvidia_devices();
  } else {
    fence.memory_bytes = machine_memory();  // CUDA reserves more address space than there is memory
  }
  return fence_command(plan.isolate, fence);
}

}  // namespace ditar
