// Predicted time and memory of one denoiser step of a job under a plan. Pure functions;
// thread-safe.
#pragma once

#include "ditar/planner/job.h"
#include "ditar/topology/graph.h"
#include "ditar/topology/plan.h"

#include <span>
#include <vector>

namespace ditar {

/// Seconds of one step on the slowest rank, by kind. `transfer` is what is not hidden.
struct StepCost {
  double matmul = 0, attention = 0, pointwise = 0, launch = 0, transfer = 0;
  double wire_bytes = 0;  ///< sent per rank and step
  int transfers = 0;      ///< exchanges per rank and step
  int micro_batches = 1;  ///< of a pipeline
  double bubble = 1.0;    ///< pipeline: time of the filled schedule / time of one stage's work
  bool measured_links = false;

  double seconds() const noexcept {
    return (matmul + attention + pointwise + launch + transfer) * bubble;
  }
};

/// Factors that a calibration puts on each kind. 1 and a residual of 25 % (assumed) until then.
struct StepScales {
  double matmul = 1, attention = 1, pointwise = 1, launch = 1, transfer = 1;
  double residual = 0.25;  ///< root mean square relative error
  Origin origin = Origin::kModelled;

  double seconds(const StepCost& cost) const noexcept;
};

/// The cost of `plan` on `gpus` (as many as plan.ranks()) of `graph`, whose links need costs.
/// `plan` must be legal for the job (see why_illegal). Every exchange is charged at the slowest
/// link of the whole group.
StepCost predict_step(const ModelShape& model, const LaneShape& lane, const Plan& plan,
                      const DeviceModel& device, const TopologyGraph& graph,
                      const std::vector<int>& gpus);

struct MeasuredStep {
  StepCost predicted;  ///< with scales of 1
  double seconds = 0;
};
/// Least squares of the relative error over the five factors (each between 0.05 and 20), held
/// weakly at 1 so that kinds the measurements do not show keep their prediction.
/// @throws InvalidArgument without measurements or with a time <= 0.
StepScales fit_scales(std::span<const MeasuredStep> measured);

/// Bytes on the fullest GPU.
struct MemoryNeed {
  double weights = 0, modulation = 0, activations = 0, transfer = 0, context = 0;
  double bytes() const noexcept { return weights + modulation + activations + transfer + context; }
};
/// Weights in the job's type; the table of all steps' modulations for every distinct label of the
/// request and the null label; the widest point of a block; receive buffers; a GPU's context and
/// NCCL's buffers (assumed 450 MB and 200 MB). The modulation layers are needed only while the
/// table is made, one at a time.
MemoryNeed predict_memory(const ModelShape& model, const LaneShape& lane, const Plan& plan,
                          const DeviceModel& device);

}  // namespace ditar
