// A lane's metric as a cost: what a block's quads hold, and how a person reads it.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/coordinator/lane_hardware.h"
#include "ditar/coordinator/timing_block.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ditar {

/// "latency" and "throughput" cost nanoseconds of one request, which makes `images` images (the
/// ratio of two times is that of two rates) and need no meter: null. "peak_memory" costs bytes: on
/// a CPU lane the largest resident size of all the group's ranks together, as the kernel counts it
/// (VmHWM), on a GPU lane the most that the group held on `gpus`, as the driver counts it, whatever
/// the worker says. @throws Unavailable if the driver does not tell.
std::unique_ptr<CostMeter> cost_meter(const LaneConfig& lane, const LaneGpus& gpus);

/// The meter behind a GPU lane, over any reading of the memory that all processes together use. The
/// arms share the GPU, so what changes it while one of them starts or works is that one's; while a
/// request runs, a thread of its own reads every millisecond. @param read  thread-safe
std::unique_ptr<CostMeter> shared_memory_meter(std::function<std::uint64_t()> read);

/// Fields of a record about one arm: metric_seconds (of a request) where the cost is time,
/// images_per_second too for a throughput lane, metric_bytes for a memory lane. Empty if nothing
/// was measured. @param metric  LaneConfig::metric; @param images  of one request
nlohmann::json metric_fields(const std::string& metric, std::int64_t images,
                             const std::vector<BlockRecord>& blocks, bool of_b);

/// Those fields for a person: "41.200 ms per request", "3.10 images/s", "812.3 MB".
std::string metric_text(const nlohmann::json& fields);

/// How the parts of a request moved between two arms, by the workers' own phase records (diagnosis
/// only): "attention 18.2 % -> 12.1 %, ..." of the sum of all phases, the three that moved most
/// first. Empty where an arm named no phase.
std::string phase_shift(const std::vector<RankReport>& before,
                        const std::vector<RankReport>& after);

}  // namespace ditar
