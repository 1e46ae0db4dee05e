// A small random DiT that many plans fit, and requests to it, for comparing split ranks with one:
// 12 heads of 8 channels, 5 layers (no stage count above 1 divides them), patch 1.
#pragma once

#include "ditar/parallel/communicator.h"
#include "ditar/worker/engine.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

struct SplitJob {
  std::string plan = {};
  std::int64_t images = 3;
  std::int64_t height = 17, width = 17;
  double guidance = 1.5;
  SamplerKind sampler = SamplerKind::kDdim;
  Precision precision = Precision::kF32;
  std::string device = "cpu";
  std::string knobs_path = {};
};

/// Sizes of the model, for latents of 2 x height x width.
struct SplitModel {
  std::int64_t height = 17, width = 17;
  std::int64_t heads = 12, hidden = 96, depth = 5;
};
/// Writes it; the same bytes every time.
void write_split_model(const std::filesystem::path& path, const SplitModel& sizes);

/// The images of `job` as this rank's engine gives them (complete on rank 0). `communicator` null:
/// one rank, the job's plan is not looked at.
std::vector<float> run_split_job(const std::filesystem::path& model, const SplitJob& job,
                                 Communicator* communicator);

/// |a - b| / |b| in the Euclidean norm, in FP64.
double relative_error(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace ditar
