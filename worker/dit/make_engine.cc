#include "dit_engine.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/kernels/ops/linear_table.h"

#include <fstream>
#include <sstream>

namespace ditar {
namespace {

void take_gemm_table(const std::string& path, Device device) {
  if (path.empty() || device.type == DeviceType::kCpu) return;
  std::ifstream file(path);
  if (!file) {
    throw IoError(path +
                  ": the GEMM table of the engine's knobs cannot be read; give an existing "
                  "file or leave gemm_table empty");
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (!load_linear_table(device, text.str())) {
    log_info(path + ": made on another GPU or library version, not used; tune it anew");
  }
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options, Communicator* communicator) {
  const Device device = parse_device(options.device);
  require(device.type == DeviceType::kCpu || device.index < cuda_device_count(),
          "device \"" + options.device + "\" is not available: this build sees " +
              std::to_string(cuda_device_count()) + " CUDA devices; give \"cpu\"");
  require(options.threads >= 0, "threads must be >= 0; 0 takes all of the cpuset");
  const Knobs knobs = read_knobs(options.knobs_path);
  take_gemm_table(knobs.gemm_table, device);
  const Checkpoint checkpoint = Checkpoint::open(options.model_path);
  for (const std::string& notice : checkpoint.notices()) log_info(notice);
  return std::make_unique<DitEngine>(checkpoint, options, knobs, communicator);
}

}  // namespace ditar
