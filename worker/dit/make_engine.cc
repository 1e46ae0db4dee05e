#include "dit_engine.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"

namespace ditar {

std::unique_ptr<Engine> make_engine(const EngineOptions& options, Communicator* communicator) {
  const Device device = parse_device(options.device);
  require(device.type == DeviceType::kCpu || device.index < cuda_device_count(),
          "device \"" + options.device + "\" is not available: this build sees " +
              std::to_string(cuda_device_count()) + " CUDA devices; give \"cpu\"");
  require(options.threads >= 0, "threads must be >= 0; 0 takes all of the cpuset");
  const Knobs knobs = read_knobs(options.knobs_path);
  const Checkpoint checkpoint = Checkpoint::open(options.model_path);
  for (const std::string& notice : checkpoint.notices()) log_info(notice);
  return std::make_unique<DitEngine>(checkpoint, options, knobs, communicator);
}

}  // namespace ditar
