#include "ditar/coordinator/quality/hard_failures.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace ditar {
namespace {

constexpr float kConstantRange = 1e-6F;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// Fault of one output taken alone; empty if there is none.
std::string fault_of(const std::vector<float>& output, std::size_t expected) {
  if (output.size() != expected) {
    return "has " + std::to_string(output.size()) + " values instead of " +
           std::to_string(expected);
  }
  for (const float x : output) {
    if (!std::isfinite(x)) return "holds a value that is not finite";
  }
  const auto [low, high] = std::minmax_element(output.begin(), output.end());
  if (*high - *low < kConstantRange) return "is constant";
  return {};
}

void check_each(const HardFailureInput& input, std::vector<std::string>& faults) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> seen;  // fault: first place, number
  for (std::size_t i = 0; i < input.outputs.size(); ++i) {
    const std::string fault = fault_of(input.outputs[i], input.values_per_output);
    if (!fault.empty()) ++seen.try_emplace(fault, i, 0).first->second.second;
  }
  for (const auto& [fault, place] : seen) {
    faults.push_back("output " + std::to_string(place.first) + " " + fault + " (" +
                     std::to_string(place.second) + " of " + std::to_string(input.outputs.size()) +
                     " outputs)");
  }
}

void check_repeats(const HardFailureInput& input, std::vector<std::string>& faults) {
  if (!input.outputs_have_distinct_seeds) return;
  std::vector<std::size_t> order(input.outputs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto& outputs = input.outputs;
  const auto less = [&](std::size_t a, std::size_t b) {
    const std::size_t size = std::min(outputs[a].size(), outputs[b].size());
    const int c =
        size == 0 ? 0 : std::memcmp(outputs[a].data(), outputs[b].data(), size * sizeof(float));
    return c != 0 ? c < 0 : outputs[a].size() < outputs[b].size();
  };
  std::stable_sort(order.begin(), order.end(), less);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!same_bits(outputs[order[i - 1]], outputs[order[i]])) continue;
    faults.push_back("outputs " + std::to_string(order[i - 1]) + " and " +
                     std::to_string(order[i]) + " have different seeds and equal values");
    return;
  }
}

}  // namespace

std::vector<std::string> hard_failures(const HardFailureInput& input) {
  require(input.values_per_output > 0, "hard_failures: values_per_output must be above 0");
  require(input.again.size() <= input.outputs.size(),
          "hard_failures: more repetitions than outputs");
  std::vector<std::string> faults;
  check_each(input, faults);
  check_repeats(input, faults);
  for (std::size_t i = 0; i < input.again.size() && !input.declared_nondeterministic; ++i) {
    if (same_bits(input.outputs[i], input.again[i])) continue;
    faults.push_back("output " + std::to_string(i) +
                     " differs between two runs of the same request; nothing declared it");
    break;
  }
  for (const ProbePair& probe : input.probes) {
    if (same_values(probe.before, probe.after)) {
      faults.push_back("the output does not feel a changed " + probe.changed);
    }
  }
  return faults;
}

}  // namespace ditar
