// What the coordinator and a worker group say to each other, as plain values. wire_codec.h turns
// them into frames and back; this header knows no JSON and no socket. Thread-safe: values only.
// Units are in the names; elements of images are FP32, row-major (images, channels, height, width).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

/// Version of the contract below and of the frame layout. Both sides must have the same one.
inline constexpr std::uint16_t kProtocolVersion = 1;

/// What one rank says of itself before anything is loaded. The coordinator checks each field
/// against its launch plan and against what it reads from the machine itself.
struct RankHello {
  int rank = -1;
  int size = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string device;           ///< "cpu" or the GPU's UUID ("GPU-...")
  std::string device_name;      ///< "" on the CPU
  std::vector<int> cpus;        ///< the CPUs this rank may run on, ascending
  int threads = 0;              ///< OpenMP threads it will use
  std::string omp_wait_policy;  ///< as the rank sees it
};

/// The first message of a group, sent by rank 0 for all ranks.
struct GroupHello {
  std::uint16_t protocol_version = kProtocolVersion;
  std::string nonce;             ///< the launch's secret, given back
  std::string build_hash;        ///< SHA-256 of rank 0's own executable
  std::string launcher;          ///< "mpirun 4.1.4" as the MPI library names itself
  std::vector<RankHello> ranks;  ///< in rank order, one per rank
};

/// Loads a model on all ranks. Device, threads and cpuset come from the launch plan.
struct LoadRequest {
  std::string model_path;             ///< .safetensors file or diffusers folder, absolute
  std::string knobs_path;             ///< config/engine.json; empty: built-in defaults
  std::string precision = "fp32";     ///< "fp64", "fp32", "tf32", "fp16" or "bf16"
  std::string parity = "auto";        ///< "auto", "official" or "diffusers"
  std::string plan;                   ///< e.g. "cfg=2"; empty: the engine's planner decides
  std::int64_t memory_cap_bytes = 0;  ///< 0: none
  friend bool operator==(const LoadRequest&, const LoadRequest&) = default;
};

/// What the engine says it loaded.
struct LoadReply {
  std::string layout;
  std::string parity;
  std::string plan;
  std::string knobs_json;  ///< flat JSON object: every knob's value
  std::int64_t parameters = 0;
  std::int64_t channels = 0, height = 0, width = 0, patch = 0;
  std::int64_t hidden = 0, depth = 0, heads = 0, classes = 0;
  bool learned_variance = false;
  friend bool operator==(const LoadReply&, const LoadReply&) = default;
};

/// How the latents are to be moved; the fields mean what those of engine.h's schedule mean.
struct ScheduleSpec {
  std::string sampler = "ddim";         ///< "ddpm", "ddim" or "dpmpp2m"
  std::vector<std::int32_t> timesteps;  ///< in the order visited, descending
  double guidance = 1.0;
  int guided_channels = 0;
  double eta = 0.0;
  std::uint64_t noise_seed = 0;
  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

/// One piece of work: latents in, latents out.
struct RunRequest {
  std::uint64_t nonce = 0;  ///< given back in the result
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  std::vector<std::int32_t> labels;  ///< one per image
  std::vector<float> latents;        ///< images * channels * height * width
  ScheduleSpec schedule;
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

/// One named duration or amount of one rank; diagnosis only.
struct PhaseSample {
  std::string name;
  double milliseconds = 0.0;
  std::int64_t calls = 0;
  double flops = 0.0;
  double bytes = 0.0;
  friend bool operator==(const PhaseSample&, const PhaseSample&) = default;
};

/// What one rank says about a load or a run; diagnosis only, never part of a verdict.
struct RankReport {
  int rank = -1;
  double milliseconds = 0.0;  ///< the rank's own wall time of the work
  std::int64_t planned_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t resident_bytes = 0;  ///< VmHWM of the process
  std::vector<PhaseSample> phases;
  friend bool operator==(const RankReport&, const RankReport&) = default;
};

/// The answer to a RunRequest.
struct RunReply {
  std::uint64_t nonce = 0;
  std::vector<float> latents;
  std::vector<RankReport> ranks;
};

/// Signs of life while work goes on. `steps` counts finished denoiser steps of that rank since the
/// launch; only its growth counts as progress.
struct ProgressReport {
  std::string phase;                 ///< "idle", "load" or "run"
  std::vector<std::uint64_t> steps;  ///< by rank
};

/// Why a side ends the conversation. `kind` is "refused", "error" (the engine's), "protocol" or
/// "gone" (another rank ended without a word) or "stalled" (a rank is there but does not go on).
struct FailureReport {
  std::string kind;
  std::string message;
  int rank = -1;  ///< -1: not one rank's fault
  int exit_code = 1;
};

}  // namespace ditar
