#include "experiment/class_audit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ditar {
namespace {

constexpr std::size_t kMostFlags = 5;
constexpr double kFlopsThatMatter = 0.001;

struct Work {
  double flops = 0.0;
  std::int64_t calls = 0;
};

Work work_of(const std::vector<RankReport>& ranks) {
  Work work;
  for (const RankReport& rank : ranks) {
    for (const PhaseSample& phase : rank.phases) {
      if (phase.name.find('/') != std::string::npos) continue;  // a part of another phase
      work.flops += phase.flops;
      work.calls += phase.calls;
    }
  }
  return work;
}

}  // namespace

std::vector<std::string> class_audit(const ClassAuditInput& input) {
  std::vector<std::string> out;
  if (!input.shown.empty() && input.shown != input.claimed) {
    out.push_back("claimed " + input.claimed + ", measured " + input.shown);
  }
  const std::vector<std::string> flags = flag_differences(input.best, input.candidate);
  for (std::size_t i = 0; i < std::min(flags.size(), kMostFlags); ++i) {
    out.push_back("compiler flag " + flags[i]);
  }
  if (flags.size() > kMostFlags) {
    out.push_back(std::to_string(flags.size() - kMostFlags) + " more compiler flags differ");
  }
  if (input.ranks_best.empty() || input.ranks_candidate.empty()) return out;
  const Work best = work_of(input.ranks_best), own = work_of(input.ranks_candidate);
  char text[160];
  if (best.flops > 0.0 && std::abs(own.flops / best.flops - 1.0) > kFlopsThatMatter) {
    std::snprintf(text, sizeof text, "a request counts %.4g GFLOP, the best's %.4g",
                  own.flops * 1e-9, best.flops * 1e-9);
    out.emplace_back(text);
  }
  if (best.calls > 0 && own.calls != best.calls) {
    std::snprintf(text, sizeof text, "a request runs %lld operations, the best's %lld",
                  static_cast<long long>(own.calls), static_cast<long long>(best.calls));
    out.emplace_back(text);
  }
  return out;
}

}  // namespace ditar
