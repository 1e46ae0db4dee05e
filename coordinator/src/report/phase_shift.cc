// Where the time went, before and after. Pure.
#include "ditar/coordinator/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace ditar {
namespace {

using nlohmann::json;

/// Phase name to its share in percent of the slowest rank's sum.
std::map<std::string, double> phase_shares(const json& arm) {
  std::map<std::string, double> shares;
  double sum = 0.0;
  const auto phases = arm.is_object() ? arm.find("phases") : arm.end();
  if (phases == arm.end() || !phases->is_object()) return shares;
  for (const auto& [name, spread] : phases->items()) {
    if (!spread.is_object() || !spread.contains("max") || !spread["max"].is_number()) continue;
    const double time = spread["max"].get<double>();
    const std::string plain = name.ends_with("_ms") ? name.substr(0, name.size() - 3) : name;
    shares[plain] = time;
    sum += time;
  }
  for (auto& [name, share] : shares) share = sum > 0.0 ? 100.0 * share / sum : 0.0;
  return shares;
}

}  // namespace

std::string phase_shift(const std::string& receipt_json) {
  const json receipt = json::parse(receipt_json, nullptr, false);
  if (!receipt.is_object() || !receipt.contains("ranks")) return {};
  const json& ranks = receipt["ranks"];
  if (!ranks.is_object() || !ranks.contains("best") || !ranks.contains("candidate")) return {};
  const auto before = phase_shares(ranks["best"]), after = phase_shares(ranks["candidate"]);
  struct Change {
    std::string name;
    double from = 0.0, to = 0.0;
  };
  std::vector<Change> changes;
  for (const auto& [name, share] : before) {
    const auto found = after.find(name);
    changes.push_back({name, share, found == after.end() ? 0.0 : found->second});
  }
  for (const auto& [name, share] : after) {
    if (!before.contains(name)) changes.push_back({name, 0.0, share});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::abs(a.to - a.from) > std::abs(b.to - b.from);
  });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, changes.size()); ++i) {
    char text[96];
    std::snprintf(text, sizeof text, "%s%s %.1f %% -> %.1f %%", out.empty() ? "" : ", ",
                  changes[i].name.substr(0, 40).c_str(), changes[i].from, changes[i].to);
    out += text;
  }
  return out;
}

}  // namespace ditar
