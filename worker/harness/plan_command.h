// `dit-worker plan`: what the planner would choose for a job on a topology. Without --measure
// nothing is loaded or run, and the coordinator may ask through it, since it must not link what is
// mutable; with it the first plans are run on the ranks there are and their fit is kept.
#pragma once

#include <cstdint>
#include <string>

namespace ditar {

struct PlanOptions {
  std::string model = "DiT-XL/2";  ///< or a .safetensors file or diffusers folder, to be measured
  std::string topology;            ///< file; empty: one host without GPUs
  int ranks = 1;
  std::int64_t images = 1;
  std::int64_t size = 32;  ///< height and width of the latents; a loaded model has its own
  int steps = 50;
  double guidance = 4.0;
  std::string
      precision;    ///< "fp32", "tf32", "fp16" or "bf16"; empty: fp32 to measure a CPU, else fp16
  std::string gpu;  ///< device model by its full name; empty: the topology's own
  std::int64_t memory_cap_bytes = 0;
  bool json = false;

  bool measure = false;
  std::string fit;  ///< file: read where it is there, and written by --measure
  int top = 3;      ///< plans that are measured
  int requests = 5;
  std::string device = "cpu";  ///< to measure on: "cpu" or "cuda" (GPU number = rank)
  int threads = 1;
};

/// Prints the ranked plans. @throws InvalidArgument, DataError with place and mend.
int plan_command(const PlanOptions& options);

}  // namespace ditar
