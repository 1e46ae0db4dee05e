// What `dit-worker profile` found, as text and as JSON. Stateless.
#pragma once

#include "ditar/planner/step_groups.h"
#include "ditar/worker/engine.h"

#include <optional>
#include <string>
#include <vector>

namespace ditar {

struct MeasuredProfile {
  ModelFacts model;
  StepProfile step;
  std::string precision;
  std::int64_t images = 1, rows = 1;  ///< rows: of the forward, both branches of guidance counted
  int steps = 1, threads = 1;
  std::vector<PhaseRecord> phases;  ///< of one whole request: load, prepare, transfer, ..., write
};

struct ModelledProfile {
  std::string device, source;
  std::string precision;
  double clock_mhz = 0.0;  ///< 0: not known
  std::int64_t rows = 1, tokens = 1;
  std::vector<StepGroup> groups;
  double step_ms() const;
};

struct ProfileReport {
  std::optional<MeasuredProfile> measured;
  std::optional<ModelledProfile> modelled;
  /// Both are of one kind of device, so that their difference is the model's error.
  bool comparable() const;
};

/// Per cent of `milliseconds` that the slower of `flops` and `bytes` needs at the measured
/// ceilings; 0 where neither is known or no time passed.
double percent_of_roofline(const StepProfile& step, const PhaseRecord& group);

std::string profile_text(const ProfileReport& report);
std::string profile_json(const ProfileReport& report);

}  // namespace ditar
