// `dit-worker plan`: what the planner would choose for a job on a topology, without loading or
// running anything. The coordinator asks through this, since it must not link what is mutable.
#pragma once

#include <cstdint>
#include <string>

namespace ditar {

struct PlanOptions {
  std::string model = "DiT-XL/2";
  std::string topology;  ///< file; empty: one host without GPUs
  int ranks = 1;
  std::int64_t images = 1;
  std::int64_t size = 32;  ///< height and width of the latents
  int steps = 50;
  double guidance = 4.0;
  std::string precision = "fp16";  ///< "fp32", "tf32", "fp16" or "bf16"
  std::string gpu;                 ///< device model by its full name; empty: the topology's own
  std::int64_t memory_cap_bytes = 0;
  bool json = false;
};

/// Prints the ranked plans. @throws InvalidArgument, DataError with place and mend.
int plan_command(const PlanOptions& options);

}  // namespace ditar
