// The fixed suite of a lane as requests to a worker: single denoiser steps along the oracle's own
// trajectories (teacher-forced) and whole free-running trajectories. An item is one request of the
// lane. Functions without state; each uses one session at a time and blocks while it works.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/coordinator/progress.h"
#include "ditar/coordinator/task.h"
#include "ditar/coordinator/worker_session.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

/// The oracle's view of the first items of the suite. `inputs[i * steps + k]` is what step k of
/// item i starts from; `singles` the oracle's answer to that one step (the sample it predicts);
/// `finals[i]` its free-running result.
struct OracleReference {
  std::int64_t items = 0, steps = 0;
  std::vector<std::vector<float>> inputs, singles, finals;
};

/// What one build answers to the suite.
struct SuiteOutputs {
  std::vector<std::vector<float>> singles;  ///< as the oracle's, for its inputs
  std::vector<std::vector<float>> finals;   ///< all free-running items, in order
  std::vector<RankReport> ranks;            ///< of the last request, with the peaks so far
  double seconds = 0.0;
};

/// Items whose trajectories the oracle walks: enough for `oracle_items` images, and for batches of
/// many images still at least `free_running_items` requests where there are as many images.
std::int64_t oracle_requests(const LaneConfig& lane);

/// Labels of item `item` of a suite: classes in turn, so that every class is there equally often.
std::vector<std::int32_t> suite_labels(const Task& task, std::int64_t item);
/// The request of a free-running item under a suite's seed.
RunRequest suite_request(const Task& task, std::uint64_t suite_seed, std::int64_t item);

/// Walks `items` trajectories with single steps of `oracle` (a worker in reference mode): the next
/// input follows from the predicted sample by the DDIM formula in FP64 (eta 0), rounded to FP32.
OracleReference make_oracle(WorkerSession& oracle, const Task& task, std::uint64_t suite_seed,
                            std::int64_t items, Progress& progress);

/// Runs the single steps of `oracle` and `free_items` whole trajectories.
SuiteOutputs run_suite(WorkerSession& worker, const Task& task, std::uint64_t suite_seed,
                       const OracleReference& oracle, std::int64_t free_items, Progress& progress);

/// Whole trajectories alone: items `first` .. `first + count - 1`.
std::vector<std::vector<float>> run_free(WorkerSession& worker, const Task& task,
                                         std::uint64_t suite_seed, std::int64_t first,
                                         std::int64_t count, Progress& progress);

void save_oracle(const std::filesystem::path& file, const OracleReference& oracle);
OracleReference load_oracle(const std::filesystem::path& file);
void save_suite(const std::filesystem::path& file, const SuiteOutputs& outputs);
SuiteOutputs load_suite(const std::filesystem::path& file);

}  // namespace ditar
