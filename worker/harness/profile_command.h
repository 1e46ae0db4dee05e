// `dit-worker profile`: where the time of a request and of one denoiser step goes, measured on this
// machine, or predicted for a GPU by its name, or both side by side. Its times are the worker's
// own: a diagnosis, never a verdict.
#pragma once

#include "ditar/config/messages.h"

#include <cstdint>
#include <string>

namespace ditar {

struct ProfileOptions {
  /// model_path empty: nothing is measured; precision empty: fp32 on the CPU, else fp16
  LoadRequest load;
  std::string device = "cpu";  ///< "cpu", "cuda:N" or "cuda"
  int threads = 1;
  std::int64_t images = 1;
  int steps = 10;
  double guidance = 1.5;
  std::string sampler = "ddim";
  int repeats = 20;      ///< of the profiled step
  std::string model_of;  ///< full name of the GPU to predict for; empty: no prediction
  std::string architecture = "DiT-XL/2";  ///< predicted where nothing is measured
  std::int64_t image = 256;               ///< pixels of a side; the latents have an eighth
  std::int64_t batch = 2;  ///< rows of the forward, both branches of guidance counted
  double clock_mhz = 0.0;  ///< predicted at this clock; 0: boost
  bool json = false;
};

/// Prints the profile. @throws Error with place and mend.
int profile_command(const ProfileOptions& asked);

}  // namespace ditar
