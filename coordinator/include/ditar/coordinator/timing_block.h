// One block of paired timing: a fresh pair of worker groups on the same devices, quads in ABBA or
// BAAB order by a recorded coin, every output checked. Each arm of a quad gets the same two fresh
// inputs, made from a secret seed after both groups are up. Blocks while it runs; one thread.
#pragma once

#include "ditar/coordinator/machine_guard.h"
#include "ditar/coordinator/progress.h"
#include "ditar/coordinator/verdict/timing_record.h"
#include "ditar/coordinator/worker_launcher.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ditar {

/// What both arms' outputs for the same input may differ by.
struct OutputRule {
  bool bits = false;         ///< any differing bit is a fault
  double relative_l2 = 0.0;  ///< else the largest ||a - b|| / ||a|| allowed
};

/// An output of B kept for recomputation by the original: index of its input, and its values.
struct KeptOutput {
  std::uint64_t input = 0;
  std::vector<float> values;
};

/// What a request cost where that is not its time, less being better. Every call lies outside the
/// timed part. One meter serves one block after the other; one thread.
class CostMeter {
 public:
  virtual ~CostMeter() = default;
  /// A block begins: none of its groups is up.
  virtual void begin_block() {}
  /// Arm A or B is up, its model loaded.
  virtual void after_start(bool /*is_b*/) {}
  virtual void before_request(bool /*is_b*/) {}
  virtual std::int64_t after_request(bool is_b, const WorkerSession& session) = 0;
};

struct BlockPlan {
  int quads = 4;           ///< valid ones; a void quad is repeated, at most 2 * quads times in all
  int warmups = 2;         ///< untimed requests per arm before the first quad
  std::uint64_t seed = 0;  ///< secret; inputs, labels, coins and draws come from it
  std::uint64_t number = 0;  ///< of the block within its attempt
  OutputRule rule;
  std::filesystem::path log_directory;
  MachineGuard* guard = nullptr;  ///< borrowed; null: no quad is voided
  CostMeter* cost = nullptr;      ///< borrowed; null: RunResult::elapsed_ns
};

struct BlockResult {
  std::vector<QuadRecord> quads;   ///< void ones included, in the order in which they ran
  std::string void_cause;          ///< too many quads were void: the last one's cause; else empty
  double worst_relative_l2 = 0.0;  ///< over all pairs of outputs for the same input
  bool all_bits_equal = true;
  std::string output_fault;       ///< one sentence; empty: every output was within the rule
  std::string idle_fault;         ///< one sentence if B worked while A was timed; else empty
  std::int64_t idle_busy_ns = 0;  ///< CPU time that B used then
  std::vector<KeptOutput> kept;   ///< about one in 16 of B's outputs
  std::int64_t load_ns_a = 0, load_ns_b = 0;
  std::vector<RankReport> ranks_a, ranks_b;  ///< of the last request of each arm
  WorkerTraces traces_b;                     ///< of B at the end of the block
};

/// The recorded coin of quad `quad` of block `number`.
QuadOrder quad_order(std::uint64_t seed, std::uint64_t number, std::uint64_t quad);

/// An unannounced shape: a timed request with fewer images and any part of the steps.
RunRequest hidden_request(const Task& task, std::uint64_t seed, std::uint64_t input);

/// The input of a timed request; the same for a recomputation.
RunRequest timed_request(const Task& task, std::uint64_t seed, std::uint64_t input);

/// ||a - b|| / ||a|| in FP64; infinity if a size or a finiteness differs.
double relative_l2(std::span<const float> a, std::span<const float> b);

/// @throws WorkerFailure of whichever arm failed; its `arm` is told by `failed_arm`.
BlockResult run_block(WorkerLauncher& launcher, const Arm& a, const Arm& b, const Task& task,
                      const BlockPlan& plan, std::string& failed_arm);

/// Recomputes the kept outputs with the original's worker (or, as `whose` then says, another).
/// @return one sentence about the first that does not fit the rule; empty if all do.
std::string recheck_outputs(WorkerSession& original, const Task& task, std::uint64_t seed,
                            const std::vector<KeptOutput>& kept, const OutputRule& rule,
                            const std::string& whose = "the original's own computation");

}  // namespace ditar
