#include "dit_engine.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"

namespace ditar {

std::unique_ptr<Engine> make_engine(const EngineOptions& options, Communicator* communicator) {
  require(options.device == "cpu",
          "device \"" + options.device + "\" is not available in this build; give \"cpu\"");
  require(options.threads >= 0, "threads must be >= 0; 0 takes all of the cpuset");
  const Knobs knobs = read_knobs(options.knobs_path);
  const Checkpoint checkpoint = Checkpoint::open(options.model_path);
  for (const std::string& notice : checkpoint.notices()) log_info(notice);
  if (options.precision == Precision::kF32) {
    return std::make_unique<DitEngine<float>>(checkpoint, options, knobs, communicator);
  }
  if (options.precision == Precision::kF64) {
    return std::make_unique<DitEngine<double>>(checkpoint, options, knobs, communicator);
  }
  throw InvalidArgument("precision " + std::string(to_string(options.precision)) +
                        " is not available on the cpu; give fp32 or fp64");
}

}  // namespace ditar
