// Requests that differ from one of the suite's in one thing, and the part of the output that must
// feel it. Pure; thread-safe.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/coordinator/quality/hard_failures.h"
#include "ditar/coordinator/task.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ditar {

/// One changed request. Only the listed values of the output are compared; they hold what a split
/// or a cache would leave unchanged, never the place that was changed itself.
struct Perturbation {
  std::string changed;  ///< ends the sentence "the output does not feel a changed ..."
  RunRequest request;
  std::vector<std::size_t> felt_at;  ///< indices into the latents (images, channels, height, width)
  bool may_be_skipped = true;        ///< by classes that may leave computation out
};

/// The label of the last image alone (felt in that image); one step left out and one step
/// moved to another time (felt in the first image; not for a schedule of one step); a value in the
/// upper half of the first image (felt in the lower half) and the other way round (neither for a
/// height of one). Attention is global, so each half feels the other, whichever rank computes it.
/// @param base  a request of `task`: `task.images` labels and latents of the task's shape
std::vector<Perturbation> perturbations(const Task& task, const RunRequest& base);

/// The two outputs at the places that must feel the change; places beyond an output's end are left
/// out (that it is too short is a fault of its own).
ProbePair felt(const Perturbation& perturbation, const std::vector<float>& before,
               const std::vector<float>& after);

}  // namespace ditar
