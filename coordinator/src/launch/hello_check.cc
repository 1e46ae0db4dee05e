#include "hello_check.h"

#include <algorithm>
#include <set>

namespace ditar {

namespace {

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text.empty() ? "none" : text;
}

std::string rank_objection(const RankHello& hello, int rank, const LaunchPlan& plan) {
  const RankPlacement& placement = plan.placements[static_cast<std::size_t>(rank)];
  const std::string who = "rank " + std::to_string(rank);
  if (hello.rank != rank || hello.size != static_cast<int>(plan.placements.size())) {
    return who + " says it is rank " + std::to_string(hello.rank) + " of " +
           std::to_string(hello.size);
  }
  if (hello.device != placement.device) {
    return who + " is on " + hello.device + ", the plan says " + placement.device;
  }
  if (hello.threads != placement.threads) {
    return who + " uses " + std::to_string(hello.threads) + " threads, the plan says " +
           std::to_string(placement.threads);
  }
  auto cpus = placement.cpus;
  std::sort(cpus.begin(), cpus.end());
  if (!cpus.empty() && hello.cpus != cpus) {
    return who + " may run on CPUs " + join(hello.cpus) + ", the plan says " + join(cpus);
  }
  return {};
}

}  // namespace

std::string hello_objection(const GroupHello& hello, const LaunchPlan& plan,
                            const std::string& nonce, const std::string& build_hash) {
  if (hello.protocol_version != kProtocolVersion) {
    return "the worker speaks protocol version " + std::to_string(hello.protocol_version) +
           ", this coordinator only " + std::to_string(kProtocolVersion);
  }
  if (hello.nonce != nonce) return "the hello does not give this launch's secret back";
  if (hello.build_hash != build_hash) {
    return "the worker's binary has hash " + hello.build_hash.substr(0, 12) + ", the plan's is " +
           build_hash.substr(0, 12) + ": it is another build";
  }
  if (hello.ranks.size() != plan.placements.size()) {
    return "the group has " + std::to_string(hello.ranks.size()) + " ranks, the plan " +
           std::to_string(plan.placements.size());
  }
  std::set<std::pair<std::string, std::string>> gpus;
  for (std::size_t r = 0; r < hello.ranks.size(); ++r) {
    const RankHello& rank = hello.ranks[r];
    auto objection = rank_objection(rank, static_cast<int>(r), plan);
    if (!objection.empty()) return objection;
    if (rank.device != "cpu" && !gpus.emplace(rank.host, rank.device).second) {
      return "two ranks are on GPU " + rank.device + " of " + rank.host;
    }
  }
  return {};
}

}  // namespace ditar
