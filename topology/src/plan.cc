#include "ditar/topology/plan.h"

#include "ditar/config/error.h"

#include <charconv>

namespace ditar {
namespace {

constexpr int kLargestDegree = 4096;
constexpr std::string_view kFactors = "data, cfg, tensor, ulysses, ring, pipeline";

int* degree_of(Plan& plan, std::string_view factor) {
  if (factor == "data") return &plan.data;
  if (factor == "cfg") return &plan.cfg;
  if (factor == "tensor") return &plan.tensor;
  if (factor == "pipeline") return &plan.pipeline;
  if (factor == "ulysses" || factor == "ring") return &plan.sequence;
  return nullptr;
}

int parse_degree(std::string_view factor, std::string_view text) {
  int degree = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), degree);
  if (error != std::errc() || end != text.data() + text.size() || degree < 1 ||
      degree > kLargestDegree) {
    throw InvalidArgument("plan: " + std::string(factor) + "=" + std::string(text) +
                          " must be a whole number from 1 to " + std::to_string(kLargestDegree));
  }
  return degree;
}

/// Which of the degrees were given already.
struct Seen {
  bool data = false, cfg = false, tensor = false, sequence = false, pipeline = false;
  bool& operator[](std::string_view factor) {
    if (factor == "data") return data;
    if (factor == "cfg") return cfg;
    if (factor == "tensor") return tensor;
    return factor == "pipeline" ? pipeline : sequence;
  }
};

void read_factor(std::string_view item, Plan& plan, Seen& seen) {
  const std::size_t equals = item.find('=');
  const std::string_view factor = item.substr(0, equals);
  if (factor == "sequence") {
    throw InvalidArgument("plan: say ulysses=N or ring=N for a split of the sequence");
  }
  int* degree = degree_of(plan, factor);
  if (!degree) {
    throw InvalidArgument("plan: \"" + std::string(factor) + "\" is not a factor; there are " +
                          std::string(kFactors) + ", or \"single\" alone");
  }
  if (equals == std::string_view::npos) {
    throw InvalidArgument("plan: " + std::string(factor) + " needs a degree, as in " +
                          std::string(factor) + "=2");
  }
  if (seen[factor]) {
    throw InvalidArgument("plan: " + std::string(factor) +
                          (degree == &plan.sequence ? ": one sequence split (ulysses or ring) is "
                                                      "possible"
                                                    : " is given twice"));
  }
  seen[factor] = true;
  *degree = parse_degree(factor, item.substr(equals + 1));
  if (factor == "ring" && *degree > 1) plan.sequence_kind = SequenceKind::kRing;
}

}  // namespace

std::string format_plan(const Plan& plan) {
  std::string text;
  const auto add = [&text](std::string_view factor, int degree) {
    if (degree == 1) return;
    if (!text.empty()) text += ',';
    text += std::string(factor) + '=' + std::to_string(degree);
  };
  add("data", plan.data);
  add("cfg", plan.cfg);
  add("tensor", plan.tensor);
  add(plan.sequence_kind == SequenceKind::kRing ? "ring" : "ulysses", plan.sequence);
  add("pipeline", plan.pipeline);
  return text.empty() ? "single" : text;
}

Plan parse_plan(std::string_view text) {
  if (text == "single") return {};
  if (text.empty()) {
    throw InvalidArgument("plan: the text is empty; give \"single\" or factors such as cfg=2");
  }
  Plan plan;
  Seen seen;
  while (true) {
    const std::size_t comma = text.find(',');
    read_factor(text.substr(0, comma), plan, seen);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return plan;
}

}  // namespace ditar
