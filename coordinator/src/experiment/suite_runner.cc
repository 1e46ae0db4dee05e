#include "ditar/coordinator/suite_runner.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/interrupt.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ditar {
namespace {

RunRequest single_step(const Task& task, std::span<const std::int32_t> labels,
                       const std::vector<float>& input, std::int64_t step, std::uint64_t nonce) {
  RunRequest request;
  request.nonce = nonce;
  request.images = task.images;
  request.channels = task.channels;
  request.height = task.height;
  request.width = task.width;
  request.labels.assign(labels.begin(), labels.end());
  request.latents = input;
  request.schedule = task.schedule;
  request.schedule.timesteps = {task.schedule.timesteps[static_cast<std::size_t>(step)]};
  return request;
}

/// DDIM with eta 0 (Song et al., eq. 12): the noise implied by the predicted sample carries on.
std::vector<float> next_input(const std::vector<float>& x, const std::vector<float>& sample,
                              double alpha_bar, double alpha_bar_next) {
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double noise =
        (double{x[i]} - std::sqrt(alpha_bar) * double{sample[i]}) / std::sqrt(1.0 - alpha_bar);
    out[i] = static_cast<float>(std::sqrt(alpha_bar_next) * double{sample[i]} +
                                std::sqrt(1.0 - alpha_bar_next) * noise);
  }
  return out;
}

}  // namespace

std::int64_t oracle_requests(const LaneConfig& lane) {
  const std::int64_t covering = (lane.suite.oracle_items + lane.images - 1) / lane.images;
  return std::max<std::int64_t>(covering,
                                std::min(lane.suite.free_running_items, lane.suite.oracle_items));
}

std::vector<std::int32_t> suite_labels(const Task& task, std::int64_t item) {
  std::vector<std::int32_t> labels;
  for (std::int64_t n = 0; n < task.images; ++n) {
    labels.push_back(static_cast<std::int32_t>((item * task.images + n) % task.classes));
  }
  return labels;
}

RunRequest suite_request(const Task& task, std::uint64_t suite_seed, std::int64_t item) {
  return make_request(task, suite_labels(task, item),
                      RequestSeed{suite_seed, static_cast<std::uint64_t>(item) *
                                                  static_cast<std::uint64_t>(task.images)},
                      drawn_bits(suite_seed, 2, static_cast<std::uint64_t>(item)));
}

OracleReference make_oracle(WorkerSession& oracle, const Task& task, std::uint64_t suite_seed,
                            std::int64_t items, Progress& progress) {
  const std::vector<double> alpha_bar = alpha_bar_table();
  const auto& timesteps = task.schedule.timesteps;
  OracleReference out;
  out.items = items;
  out.steps = static_cast<std::int64_t>(timesteps.size());
  for (std::int64_t item = 0; item < items; ++item) {
    throw_if_interrupted();
    const RunRequest whole = suite_request(task, suite_seed, item);
    std::vector<float> x = whole.latents;
    for (std::int64_t k = 0; k < out.steps; ++k) {
      const std::uint64_t nonce =
          drawn_bits(suite_seed, 3, static_cast<std::uint64_t>(item * out.steps + k));
      const std::vector<float> sample =
          oracle.run(single_step(task, whole.labels, x, k, nonce)).latents;
      out.inputs.push_back(x);
      out.singles.push_back(sample);
      if (k + 1 < out.steps) {
        x = next_input(x, sample, alpha_bar[static_cast<std::size_t>(timesteps[k])],
                       alpha_bar[static_cast<std::size_t>(timesteps[k + 1])]);
      }
    }
    out.finals.push_back(oracle.run(whole).latents);
    progress.update(item + 1, items);
  }
  return out;
}

std::vector<std::vector<float>> run_free(WorkerSession& worker, const Task& task,
                                         std::uint64_t suite_seed, std::int64_t first,
                                         std::int64_t count, Progress& progress) {
  std::vector<std::vector<float>> out;
  for (std::int64_t item = first; item < first + count; ++item) {
    throw_if_interrupted();
    out.push_back(worker.run(suite_request(task, suite_seed, item)).latents);
    progress.update(item - first + 1, count);
  }
  return out;
}

SuiteOutputs run_suite(WorkerSession& worker, const Task& task, std::uint64_t suite_seed,
                       const OracleReference& oracle, std::int64_t free_items, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  SuiteOutputs out;
  const std::int64_t total = oracle.items * oracle.steps + free_items;
  for (std::int64_t at = 0; at < oracle.items * oracle.steps; ++at) {
    throw_if_interrupted();
    const std::uint64_t nonce = drawn_bits(suite_seed, 4, static_cast<std::uint64_t>(at));
    out.singles.push_back(
        worker
            .run(single_step(task, suite_labels(task, at / oracle.steps),
                             oracle.inputs[static_cast<std::size_t>(at)], at % oracle.steps, nonce))
            .latents);
    progress.update(at + 1, total);
  }
  for (std::int64_t item = 0; item < free_items; ++item) {
    throw_if_interrupted();
    RunResult result = worker.run(suite_request(task, suite_seed, item));
    out.finals.push_back(std::move(result.latents));
    out.ranks = std::move(result.ranks);
    progress.update(oracle.items * oracle.steps + item + 1, total);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace ditar
