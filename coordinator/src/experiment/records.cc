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
    if (quad.foreign_load > 0.0) entry["foreign_load"] = quad.foreign_load;
    if (quad.steal > 0.0) entry["steal"] = quad.steal;
    if (quad.sm_clock_mhz > 0) entry["sm_mhz"] = quad.sm_clock_mhz;
    if (quad.clock_reasons > 0) entry["clock_reasons"] = quad.clock_reasons;
    quads.push_back(entry);
  }
  json out = {{"kind", to_string(block.kind)}, {"quads", quads}};
  if (block.is_void) out["void"] = block.void_cause;
  return out;
}

BlockRecord block_from(const json& entry) {
  BlockRecord block;
  try {
    block.kind = block_kind_from(entry.at("kind").get<std::string>());
    block.is_void = entry.contains("void");
    block.void_cause = entry.value("void", "");
    for (const json& item : entry.at("quads")) {
      QuadRecord quad;
      const std::string order = item.at("order").get<std::string>();
      if (order != "ABBA" && order != "BAAB") {
        throw DataError("a quad's order '" + order + "' is neither ABBA nor BAAB");
      }
      quad.order = order == "BAAB" ? QuadOrder::kBaab : QuadOrder::kAbba;
      quad.cost = item.at("ns").get<std::array<std::int64_t, 4>>();
      quad.is_void = item.contains("void");
      quad.void_cause = item.value("void", "");
      quad.throttled = item.value("throttled", false);
      quad.foreign_load = item.value("foreign_load", 0.0);
      quad.steal = item.value("steal", 0.0);
      quad.sm_clock_mhz = item.value("sm_mhz", 0U);
      quad.clock_reasons = item.value("clock_reasons", std::uint64_t{0});
      for (const TimedArm arm : {TimedArm::kA, TimedArm::kB, TimedArm::kBoth}) {
        if (item.value("arm", "none") == to_string(arm)) quad.arm_during_cause = arm;
      }
      block.quads.push_back(quad);
    }
  } catch (const json::exception& error) {
    throw DataError(std::string("a block's record cannot be read: ") + error.what());
  }
  return block;
}

std::vector<BlockRecord> blocks_from(const json& blocks) {
  std::vector<BlockRecord> out;
  for (const json& entry : blocks) out.push_back(block_from(entry));
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
          {"log_e_slower", n.log_e_slower},
          {"log_e_needed", n.log_e_needed},
          {"log_e_futile_needed", n.log_e_futile_needed},
          {"screen_median", n.screen_median},
          {"throttled_a", n.throttled_a},
          {"throttled_b", n.throttled_b},
          {"throttle_p", n.throttle_p},
          {"control",
           {{"alarm", n.control.alarm},
            {"blocks", n.control.blocks},
            {"chi_square", n.control.chi_square},
            {"limit", n.control.limit},
            {"worst", n.control.worst}}},
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

json to_json(const Isolation& isolation) {
  return {{"level", to_string(trust_level(isolation))},
          {"layers", isolation.layers},
          {"hindrance", isolation.hindrance},
          {"cannot_promise", open_promises(isolation)}};
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
          {"clip_sigmas", p.clip_sigmas},
          {"tau_floor", p.tau_floor},
          {"void_block_limit", p.void_block_limit},
          {"imbalance_p", p.imbalance_p},
          {"sigma_floor", p.sigma_floor},
          {"sigma_limit", p.sigma_limit}};
}

DecisionParams params_from(const json& j) {
  DecisionParams p;
  try {
    j.at("quads_per_block").get_to(p.quads_per_block);
    j.at("min_blocks").get_to(p.min_blocks);
    j.at("max_blocks").get_to(p.max_blocks);
    j.at("budget_blocks").get_to(p.budget_blocks);
    j.at("confirm_blocks").get_to(p.confirm_blocks);
    j.at("calibration_blocks").get_to(p.calibration_blocks);
    j.at("alpha").get_to(p.alpha);
    j.at("beta").get_to(p.beta);
    j.at("confirm_p").get_to(p.confirm_p);
    j.at("min_effect").get_to(p.min_effect);
    j.at("clip_sigmas").get_to(p.clip_sigmas);
    j.at("tau_floor").get_to(p.tau_floor);
    j.at("void_block_limit").get_to(p.void_block_limit);
    j.at("imbalance_p").get_to(p.imbalance_p);
    j.at("sigma_floor").get_to(p.sigma_floor);
    j.at("sigma_limit").get_to(p.sigma_limit);
  } catch (const json::exception& error) {
    throw DataError(std::string("the parameters of a record cannot be read: ") + error.what());
  }
  return p;
}

DecisionParams decision_params(const LaneConfig& lane) {
  const DecisionSettings& s = lane.decision;
  DecisionParams p;
  p.quads_per_block = s.quads_per_block;
  p.min_blocks = s.min_blocks;
  p.max_blocks = s.max_blocks;
  p.budget_blocks = s.budget_blocks;
  p.confirm_blocks = s.confirm_blocks;
  p.calibration_blocks = s.calibration_blocks;
  p.alpha = s.alpha;
  p.beta = s.beta;
  p.confirm_p = s.confirm_p;
  p.min_effect = s.min_effect;
  p.sigma_limit = s.sigma_limit;
  p.sigma_floor = s.resolution;
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

json to_json(const LaneGpus& gpus) {
  return {{"key", hardware_key(gpus)},
          {"gpu", gpus.name},
          {"gpus", gpus.uuids.size()},
          {"driver", gpus.driver},
          {"cuda", gpus.cuda},
          {"uuids", gpus.uuids},
          {"off_target", gpus.off_target},
          {"architectures", gpus.architectures}};
}

nlohmann::json parsed_or_null(const std::string& text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  return value.is_discarded() ? nlohmann::json() : value;
}

}  // namespace ditar
