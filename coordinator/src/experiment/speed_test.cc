#include "experiment/speed_test.h"

#include "ditar/coordinator/task.h"
#include "experiment/records.h"

#include <nlohmann/json.hpp>

#include <set>

namespace ditar {

using nlohmann::json;

CampaignState campaign_state(std::span<const Record> records, const std::string& session,
                             const std::string& id, std::int64_t before) {
  CampaignState out;
  std::set<std::string> tests;
  for (const Record& record : records) {
    if (record.seq >= before) break;
    const bool wanted = record.type == "speed-test" || record.type == "verdict" ||
                        record.type == "block" || record.type == "baseline" ||
                        record.type == "calibration";
    if (!wanted) continue;
    const json body = json::parse(record.body, nullptr, false);
    if (!body.is_object() || body.value("session", "") != session) continue;
    if (record.type == "speed-test") {
      tests.insert(body.value("id", ""));
    } else if (record.type == "verdict") {
      if (body.value("verdict", "") == "RETRY") tests.erase(body.value("id", ""));
      out.keeps += body.value("verdict", "") == "KEEP";
    } else if (record.type == "block") {
      if (body.value("kind", "") != to_string(BlockKind::kControl)) continue;
      const std::optional<double> value = block_value(block_from(body), 1);
      if (value) out.controls.push_back(*value);
    } else if (body.contains("calibration") && body["calibration"].value("accepted", false)) {
      out.sigma0 = body["calibration"].value("sigma0", 0.0);
      out.controls.clear();
    }
  }
  tests.erase(id);
  out.test_index = static_cast<int>(tests.size()) + 1;
  return out;
}

Evidence evidence_of(const CampaignState& campaign, std::uint64_t seed,
                     const DecisionParams& params) {
  Evidence evidence;
  evidence.sigma0 = campaign.sigma0;
  evidence.test_index = campaign.test_index;
  evidence.keeps_before = campaign.keeps;
  evidence.controls_before = campaign.controls;
  evidence.control_after = control_position(drawn_bits(seed, kControlStream, 0), params);
  return evidence;
}

Calibration calibration_of(std::span<const BlockRecord> blocks, const DecisionParams& params) {
  std::vector<double> values;
  for (const BlockRecord& block : blocks) {
    const std::optional<double> value = block_value(block, params.quads_per_block);
    if (value) values.push_back(*value);
  }
  return calibrate(values, params);
}

json speed_test_body(const std::string& session, const std::string& id, int round,
                     const Evidence& evidence, const DecisionParams& params) {
  return {{"session", session},
          {"id", id},
          {"round", round},
          {"test_index", evidence.test_index},
          {"keeps_before", evidence.keeps_before},
          {"alpha", decide(evidence, params).numbers.alpha_i},
          {"sigma0", evidence.sigma0},
          {"controls_before", evidence.controls_before},
          {"parameters", to_json(params)}};
}

json block_body(const std::string& session, const std::string& id, int round, std::uint64_t number,
                const BlockRecord& block) {
  json body = to_json(block);
  body["session"] = session;
  body["id"] = id;
  body["round"] = round;
  body["number"] = number;
  return body;
}

}  // namespace ditar
