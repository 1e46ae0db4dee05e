// Failures that no class excuses: outputs that are broken, constant, or do not depend on what they
// must depend on. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ditar {

/// Outputs of requests that differ in one thing only.
struct ProbePair {
  std::string changed;  ///< "label", "seed", "timestep", "token", ...
  std::vector<float> before, after;
  bool may_be_skipped = false;  ///< quantization and approximate may leave it out
};

struct HardFailureInput {
  std::size_t values_per_output = 0;  ///< of each output
  std::span<const std::vector<float>> outputs;
  std::span<const std::vector<float>> again;  ///< the first outputs a second time; may be empty
  bool declared_nondeterministic = false;
  std::vector<ProbePair> probes;
  /// Outputs of the request before each one, in service order: a repeated one is a stale buffer.
  bool outputs_have_distinct_seeds = true;
};

/// One sentence for each kind of failure, with the first place; empty if there is none.
std::vector<std::string> hard_failures(const HardFailureInput& input);

}  // namespace ditar
