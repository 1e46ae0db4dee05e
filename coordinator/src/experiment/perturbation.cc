#include "experiment/perturbation.h"

#include <algorithm>
#include <cstdint>

namespace ditar {
namespace {

/// Indices of rows `first` .. `last - 1` of image `image`, all channels.
std::vector<std::size_t> rows(const Task& task, std::int64_t image, std::int64_t first,
                              std::int64_t last) {
  std::vector<std::size_t> out;
  for (std::int64_t channel = 0; channel < task.channels; ++channel) {
    const std::int64_t plane = (image * task.channels + channel) * task.height;
    for (std::int64_t at = (plane + first) * task.width; at < (plane + last) * task.width; ++at) {
      out.push_back(static_cast<std::size_t>(at));
    }
  }
  return out;
}

std::vector<float> values_at(const std::vector<float>& output,
                             const std::vector<std::size_t>& places) {
  std::vector<float> out;
  for (const std::size_t at : places) {
    if (at < output.size()) out.push_back(output[at]);
  }
  return out;
}

}  // namespace

std::vector<Perturbation> perturbations(const Task& task, const RunRequest& base) {
  std::vector<Perturbation> out;
  const std::int64_t last_image = task.images - 1;
  Perturbation label{"label of one image", base, rows(task, last_image, 0, task.height), false};
  std::int32_t& value = label.request.labels.back();
  value = (value + 1) % task.classes;
  out.push_back(std::move(label));

  if (base.schedule.timesteps.size() > 1) {
    Perturbation step{"step", base, rows(task, 0, 0, task.height)};
    step.request.schedule.timesteps.erase(step.request.schedule.timesteps.begin() + 1);
    out.push_back(std::move(step));
    Perturbation time{"time of one step", base, rows(task, 0, 0, task.height)};
    std::vector<std::int32_t>& times = time.request.schedule.timesteps;
    times[1] = times[0] - std::max(1, (times[0] - times[1]) / 2);
    if (times[1] != base.schedule.timesteps[1]) out.push_back(std::move(time));
  }
  const std::int64_t half = task.height / 2;
  if (half == 0) return out;
  for (const bool lower : {false, true}) {
    Perturbation token{lower ? "token in the lower half, seen from the upper one"
                             : "token in the upper half, seen from the lower one",
                       base, lower ? rows(task, 0, 0, half) : rows(task, 0, half, task.height)};
    const std::int64_t row = lower ? half + (task.height - half) / 2 : half / 2;
    token.request.latents[static_cast<std::size_t>(row * task.width + task.width / 2)] += 1.0F;
    out.push_back(std::move(token));
  }
  return out;
}

ProbePair felt(const Perturbation& perturbation, const std::vector<float>& before,
               const std::vector<float>& after) {
  return {perturbation.changed, values_at(before, perturbation.felt_at),
          values_at(after, perturbation.felt_at), perturbation.may_be_skipped};
}

}  // namespace ditar
