#include "experiment/verify_records.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/timing_block.h"
#include "experiment/experiment_run.h"
#include "experiment/lane_metric.h"
#include "experiment/pair_run.h"
#include "experiment/records.h"
#include "experiment/remeasure.h"
#include "experiment/speed_test.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace ditar {
namespace {

using nlohmann::json;
using Faults = std::vector<std::string>;

json body_of(const Record& record) { return json::parse(record.body, nullptr, false); }

/// Names what differs: numbers are compared as their shortest exact text, so bit by bit.
void compare(const json& again, const json& stored, const std::string& what, Faults& faults) {
  if (again.is_object() && stored.is_object()) {
    for (const auto& [key, value] : again.items()) {
      compare(value, stored.value(key, json()), what + "." + key, faults);
    }
  } else if (again.dump() != stored.dump()) {
    faults.push_back(what + " is " + stored.dump() + " on record, computed again it is " +
                     again.dump());
  }
}

void check_coins(const BlockRecord& block, std::uint64_t seed, std::uint64_t number,
                 Faults& faults) {
  for (std::size_t q = 0; q < block.quads.size(); ++q) {
    if (block.quads[q].order == quad_order(seed, number, q)) continue;
    faults.push_back("quad " + std::to_string(q) + " of block " + std::to_string(number) +
                     " ran in another order than its seed says");
    return;
  }
}

/// The receipt, if it is the file that the record names.
json receipt_of(const json& body, const std::filesystem::path& root, Faults& faults) {
  const std::filesystem::path file = root / body.value("receipt", "");
  if (!std::filesystem::is_regular_file(file)) {
    faults.push_back("its receipt " + file.string() + " is missing");
    return {};
  }
  if (sha256_file(file) != body.value("receipt_sha256", "")) {
    faults.push_back("its receipt " + file.string() + " is not the one that the ledger names");
    return {};
  }
  std::ifstream stream(file);
  json receipt = json::parse(stream, nullptr, false);
  if (receipt.is_discarded()) {
    faults.push_back("its receipt " + file.string() + " is not JSON");
    return {};
  }
  return receipt;
}

void check_calibration(const json& body, std::uint64_t first_number, Faults& faults) {
  const DecisionParams params = params_from(body.at("parameters"));
  const std::vector<BlockRecord> blocks = blocks_from(body.at("blocks"));
  if (body.contains("guard_limits")) {
    const HostLimits limits = host_limits(blocks);
    compare({{"foreign_load", limits.foreign_load}, {"steal", limits.steal}}, body["guard_limits"],
            "guard_limits", faults);
  }
  const std::uint64_t seed = hex_bits(body.value("seed", ""));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check_coins(blocks[i], seed, first_number + i, faults);
  }
  const Calibration again = calibration_of(blocks, params);
  compare(to_json(again), body.at("calibration"), "calibration", faults);
  if (!body.contains("detectable_percent")) return;
  compare(metric_fields(body.at("metric"), body.at("images"), blocks, false), body, "baseline",
          faults);
  compare(speedup_percent(minimum_detectable_effect(again.sigma0, params, 1, 0)),
          body.at("detectable_percent"), "detectable_percent", faults);
}

void check_pair(const json& body, Faults& faults) {
  const std::vector<BlockRecord> blocks = blocks_from(body.at("blocks"));
  const std::uint64_t seed = hex_bits(body.value("seed", ""));
  const auto first = body.value("first_number", std::uint64_t{0});
  for (std::size_t i = 0; i < blocks.size(); ++i) check_coins(blocks[i], seed, first + i, faults);
  const HeadToHead again = head_to_head(blocks, params_from(body.at("parameters")));
  compare(pair_numbers(again), body.at("numbers"), "numbers", faults);
  if (body.contains("confirmed")) {
    const bool confirmed =
        confirms_gain(again, body.at("sigma0"), params_from(body.at("parameters")));
    compare(confirmed, body["confirmed"], "confirmed", faults);
    compare(upholds(body.at("verdict"), body.at("reason"), confirmed), body["upheld"], "upheld",
            faults);
  }
}

class VerdictCheck {
 public:
  VerdictCheck(std::span<const Record> records, const Record& verdict, const json& body)
      : records_(records), verdict_(verdict), body_(body), id_(body.value("id", "")) {}

  Faults run(const std::filesystem::path& root) {
    const json receipt = receipt_of(body_, root, faults_);
    check_seed();
    gather();
    if (body_.value("speed_test_started", false) != !test_.is_null()) {
      faults_.push_back("the ledger does not say of its speed test what the verdict says");
    } else if (!test_.is_null()) {
      check_speed(receipt);
    } else if (body_.value("verdict", "") == "KEEP") {
      faults_.push_back("it was kept without a speed test");
    }
    return std::move(faults_);
  }

 private:
  void check_seed() {
    const SealedSeed sealed{hex_bits(body_.value("seed", "")), body_.value("seed_salt", "")};
    seed_ = sealed.seed;
    for (const Record& record : records_) {
      if (record.seq >= verdict_.seq || record.type != "intent") continue;
      const json intent = body_of(record);
      if (intent.value("id", "") != id_) continue;
      if (intent.value("seed_commitment", "") == seed_commitment(id_, sealed)) return;
      faults_.push_back("the seed revealed is not the one whose hash its intent holds");
      return;
    }
    faults_.push_back("the ledger has no intent of it");
  }

  /// A round that another one follows must have ended in an alarm of the control.
  void check_earlier_round() {
    if (test_.is_null()) return;
    const Decision again = decide(gathered_evidence(), params_from(test_.at("parameters")));
    if (again.outcome == Outcome::kQuarantined) return;
    faults_.push_back("round " + std::to_string(test_.value("round", 0)) +
                      " was measured over again although its figures decide " +
                      std::string(to_string(again.outcome)));
  }

  Evidence gathered_evidence() const {
    Evidence evidence =
        evidence_of(campaign_state(records_, body_.value("session", ""), id_, test_seq_), seed_,
                    params_from(test_.at("parameters")));
    evidence.blocks = blocks_from(blocks_);
    return evidence;
  }

  /// The last round's test record and blocks.
  void gather() {
    for (const Record& record : records_) {
      if (record.seq >= verdict_.seq) break;
      if (record.type != "speed-test" && record.type != "block") continue;
      const json body = body_of(record);
      if (body.value("id", "") != id_) continue;
      if (record.type == "speed-test") {
        check_earlier_round();
        test_ = body;
        test_seq_ = record.seq;
        blocks_ = json::array();
      } else {
        blocks_.push_back(body);
      }
    }
  }

  void check_speed(const json& receipt) {
    const DecisionParams params = params_from(test_.at("parameters"));
    const Evidence evidence = gathered_evidence();
    Evidence opening = evidence;
    opening.blocks.clear();
    compare(
        speed_test_body(body_.value("session", ""), id_, test_.value("round", 0), opening, params),
        test_, "speed-test", faults_);
    for (std::size_t i = 0; i < evidence.blocks.size(); ++i) {
      check_coins(evidence.blocks[i], seed_, blocks_[i].value("number", std::uint64_t{0}), faults_);
    }
    const Decision again = decide(evidence, params);
    compare_receipt(receipt, again, evidence);
    check_word(again);
    compare(metric_fields(body_.value("metric", ""), body_.value("images", std::int64_t{1}),
                          evidence.blocks, true),
            body_, "verdict", faults_);
    if (again.numbers.screen_blocks > 0) {
      const HodgesLehmann& effect = again.numbers.effect;
      compare({{"speedup_percent", speedup_percent(effect.estimate)},
               {"speedup_low_percent", speedup_percent(effect.low)},
               {"speedup_high_percent", speedup_percent(effect.high)}},
              body_, "verdict", faults_);
    }
  }

  void compare_receipt(const json& receipt, const Decision& again, const Evidence& evidence) {
    if (receipt.is_null()) return;
    json blocks = json::array();
    for (const BlockRecord& block : evidence.blocks) blocks.push_back(to_json(block));
    if (receipt.value("blocks", json()) != blocks) {
      faults_.push_back("its receipt's blocks are not those of the ledger");
    }
    // A block that ended the experiment by itself leaves the decision before it.
    if (receipt.contains("decision")) {
      compare(to_json(again), receipt["decision"], "decision", faults_);
    }
  }

  void check_word(const Decision& again) {
    const std::string word = body_.value("verdict", ""), reason = body_.value("reason", "");
    const Verdict says = verdict_of(again);
    const bool by_speed = word == "KEEP" ||
                          (word == "DISCARD" && (reason == "speed" || reason == "throttling" ||
                                                 reason == "unresolved")) ||
                          (word == "RETRY" && (reason == "noise" || reason == "machine"));
    if (!by_speed) return;
    const bool out_of_time =
        reason == "unresolved" && body_.contains("time_limit_seconds") &&
        body_.value("used_seconds", 0.0) > body_.value("time_limit_seconds", 0.0);
    if (out_of_time && word == "DISCARD" && again.next) return;
    if (again.next || says.word != word || says.reason != reason) {
      faults_.push_back("its figures decide " + std::string(to_string(again.outcome)) +
                        (says.reason.empty() ? "" : "(" + says.reason + ")") + ", it says " + word +
                        (reason.empty() ? "" : "(" + reason + ")"));
    } else if (body_.value("why", "") != says.why) {
      faults_.push_back("its reason reads otherwise than its figures say");
    }
  }

  std::span<const Record> records_;
  const Record& verdict_;
  const json& body_;
  std::string id_;
  Faults faults_;
  std::uint64_t seed_ = 0;
  json test_;
  std::int64_t test_seq_ = 0;
  json blocks_ = json::array();
};

}  // namespace

std::vector<VerifiedRecord> verify_records(std::span<const Record> records,
                                           const std::filesystem::path& git_root,
                                           const std::string& only) {
  std::vector<VerifiedRecord> out;
  for (const Record& record : records) {
    const bool pair = record.type == "head-to-head" || record.type == "remeasure";
    const bool noise = record.type == "baseline" || record.type == "calibration";
    if (!pair && !noise && record.type != "verdict") continue;
    const json body = body_of(record);
    VerifiedRecord found{record.seq, record.type, "baseline", {}};
    if (record.type != "baseline") found.id = body.value("id", "");
    if (!only.empty() && found.id != only) continue;
    try {
      if (record.type == "verdict") {
        found.faults = VerdictCheck(records, record, body).run(git_root);
      } else if (pair) {
        check_pair(body, found.faults);
      } else {
        check_calibration(body, body.value("first_number", std::uint64_t{0}), found.faults);
        if (body.value("ok", false)) receipt_of(body, git_root, found.faults);
      }
    } catch (const std::exception& error) {
      found.faults.push_back(std::string("it cannot be computed again: ") + error.what());
    }
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace ditar
