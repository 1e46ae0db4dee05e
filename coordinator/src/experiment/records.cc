#include "experiment/records.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace ditar {

using nlohmann::json;

json to_json(const BlockRecord& block) {
  json quads = json::array();
  for (const QuadRecord& quad : block.quads) {
    json entry = {{"order", to_string(quad.order)}, {"ns", quad.cost}};
    if (quad.is_void) {
      entry["void"] = quad.void_cause;
      entry["throttled"] = quad.throttled;
      entry["arm"] = to_string(quad.arm_during_cause);
    }
    quads.push_back(entry);
  }
  json out = {{"kind", to_string(block.kind)}, {"quads", quads}};
  if (block.is_void) out["void"] = block.void_cause;
  return out;
}

std::vector<BlockRecord> blocks_from(const json& blocks) {
  std::vector<BlockRecord> out;
  try {
    for (const json& entry : blocks) {
      BlockRecord block;
      block.kind = block_kind_from(entry.at("kind").get<std::string>());
      block.is_void = entry.contains("void");
      block.void_cause = entry.value("void", "");
      for (const json& item : entry.at("quads")) {
        QuadRecord quad;
        quad.order = item.at("order") == "BAAB" ? QuadOrder::kBaab : QuadOrder::kAbba;
        quad.cost = item.at("ns").get<std::array<std::int64_t, 4>>();
        quad.is_void = item.contains("void");
        quad.void_cause = item.value("void", "");
        quad.throttled = item.value("throttled", false);
        for (const TimedArm arm : {TimedArm::kA, TimedArm::kB, TimedArm::kBoth}) {
          if (item.value("arm", "none") == to_string(arm)) quad.arm_during_cause = arm;
        }
        block.quads.push_back(quad);
      }
      out.push_back(block);
    }
  } catch (const json::exception& error) {
    throw DataError(std::string("a receipt's blocks cannot be read: ") + error.what());
  }
  return out;
}

json to_json(const Decision& decision) {
  const DecisionNumbers& n = decision.numbers;
  return {{"outcome", to_string(decision.outcome)},
          {"reason", to_string(decision.reason)},
          {"why", decision.why},
          {"would_change", decision.would_change},
          {"sigma0", n.sigma0},
          {"tau", n.tau},
          {"least_gain", n.least_gain},
          {"alpha_i", n.alpha_i},
          {"screen_gains", n.screen_gains},
          {"confirm_gains", n.confirm_gains},
          {"controls", n.controls},
          {"void_blocks", n.void_blocks},
          {"log_e_gain", n.log_e_gain},
          {"log_e_futile", n.log_e_futile},
          {"log_e_needed", n.log_e_needed},
          {"confirm_p", n.confirm_p},
          {"effect",
           {{"gain", n.effect.estimate},
            {"low", n.effect.low},
            {"high", n.effect.high},
            {"confidence", n.effect.confidence}}}};
}

json to_json(const Calibration& calibration) {
  return {{"blocks", calibration.blocks},  {"mean", calibration.mean},
          {"sd", calibration.sd},          {"sigma0", calibration.sigma0},
          {"lag1", calibration.lag1},      {"accepted", calibration.accepted},
          {"reasons", calibration.reasons}};
}

json to_json(const HostFacts& facts) {
  return {{"host", facts.host},           {"kernel", facts.kernel},
          {"cpu", facts.cpu_model},       {"cpus", facts.cpus},
          {"load_1min", facts.load_1min}, {"memory_bytes", facts.memory_bytes},
          {"gpu", facts.gpu_name},        {"gpus", facts.gpu_count}};
}

namespace {

json spread(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  double sum = 0.0;
  for (const double value : values) sum += value;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {{"min", *low},
          {"mean", sum / static_cast<double>(values.size())},
          {"max", *high},
          {"max_index", high - values.begin()}};
}

}  // namespace

json aggregate(const std::vector<RankReport>& ranks) {
  std::vector<double> time, peak, resident;
  std::map<std::string, std::vector<double>> phases;
  for (const RankReport& rank : ranks) {
    time.push_back(rank.milliseconds);
    peak.push_back(static_cast<double>(rank.peak_bytes));
    resident.push_back(static_cast<double>(rank.resident_bytes));
    for (const PhaseSample& phase : rank.phases) phases[phase.name].push_back(phase.milliseconds);
  }
  json by_phase = json::object();
  for (const auto& [name, values] : phases) by_phase[name + "_ms"] = spread(values);
  return {{"ranks", ranks.size()},
          {"time_ms", spread(time)},
          {"peak_bytes", spread(peak)},
          {"resident_bytes", spread(resident)},
          {"phases", by_phase}};
}

json to_json(const DecisionParams& p) {
  return {{"quads_per_block", p.quads_per_block},
          {"min_blocks", p.min_blocks},
          {"max_blocks", p.max_blocks},
          {"budget_blocks", p.budget_blocks},
          {"confirm_blocks", p.confirm_blocks},
          {"calibration_blocks", p.calibration_blocks},
          {"alpha", p.alpha},
          {"beta", p.beta},
          {"confirm_p", p.confirm_p},
          {"min_effect", p.min_effect},
          {"void_block_limit", p.void_block_limit}};
}

DecisionParams params_from(const json& j) {
  DecisionParams p;
  p.quads_per_block = j.value("quads_per_block", p.quads_per_block);
  p.min_blocks = j.value("min_blocks", p.min_blocks);
  p.max_blocks = j.value("max_blocks", p.max_blocks);
  p.budget_blocks = j.value("budget_blocks", p.budget_blocks);
  p.confirm_blocks = j.value("confirm_blocks", p.confirm_blocks);
  p.calibration_blocks = j.value("calibration_blocks", p.calibration_blocks);
  p.alpha = j.value("alpha", p.alpha);
  p.beta = j.value("beta", p.beta);
  p.confirm_p = j.value("confirm_p", p.confirm_p);
  p.min_effect = j.value("min_effect", p.min_effect);
  p.void_block_limit = j.value("void_block_limit", p.void_block_limit);
  return p;
}

DecisionParams decision_params(const LaneConfig& lane) {
  const DecisionSettings& s = lane.decision;
  DecisionParams p;
  p.quads_per_block = s.quads_per_block;
  p.min_blocks = s.min_blocks;
  p.max_blocks = s.max_blocks;
  p.budget_blocks = 2 * s.max_blocks;
  p.confirm_blocks = s.confirm_blocks;
  p.calibration_blocks = s.calibration_blocks;
  p.alpha = s.alpha;
  p.beta = s.beta;
  p.confirm_p = s.confirm_p;
  p.min_effect = s.min_effect;
  p.void_block_limit = s.void_block_limit;
  check(p);
  return p;
}

double median_seconds(const std::vector<BlockRecord>& blocks, bool of_b) {
  std::vector<double> values;
  for (const BlockRecord& block : blocks) {
    const bool real = block.kind == BlockKind::kScreen || block.kind == BlockKind::kConfirm;
    if (block.is_void || (of_b && !real)) continue;
    for (const QuadRecord& quad : block.quads) {
      if (quad.is_void) continue;
      for (std::size_t i = 0; i < 4; ++i) {
        const bool is_b = (quad.order == QuadOrder::kBaab) == (i == 0 || i == 3);
        if (is_b == of_b) values.push_back(static_cast<double>(quad.cost[i]) * 1e-9);
      }
    }
  }
  return values.empty() ? 0.0 : median(values);
}

nlohmann::json parsed_or_null(const std::string& text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  return value.is_discarded() ? nlohmann::json() : value;
}

}  // namespace ditar
