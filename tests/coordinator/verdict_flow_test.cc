// Whole experiments against scripted workers: what the ledger holds is enough to decide again, and
// nothing in it can be changed unseen.
#include "experiment/verify_records.h"
#include "scripted_flow.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ditar {
namespace {

using nlohmann::json;

std::vector<std::string> faults_of(const std::vector<Record>& records, const ScriptedFlow& flow) {
  std::vector<std::string> out;
  for (const VerifiedRecord& record : verify_records(records, flow.scratch.root())) {
    for (const std::string& fault : record.faults) out.push_back(record.type + ": " + fault);
  }
  return out;
}

int count(const std::vector<Record>& records, const std::string& type) {
  int n = 0;
  for (const Record& record : records) n += record.type == type;
  return n;
}

class VerdictFlowTest : public testing::Test {
 protected:
  /// The records with one edit of the last one of `type`.
  std::vector<Record> edited(const std::string& type, const std::function<void(json&)>& edit) {
    std::vector<Record> records = flow_.records();
    for (auto it = records.rbegin(); it != records.rend(); ++it) {
      if (it->type != type) continue;
      json body = json::parse(it->body);
      edit(body);
      it->body = body.dump();
      return records;
    }
    ADD_FAILURE() << "no record of type " << type;
    return records;
  }

  ScriptedFlow flow_;
};

TEST_F(VerdictFlowTest, EveryRecordIsComputedAgainBitByBit) {
  flow_.baseline();
  EXPECT_EQ(flow_.experiment(0.02).attempt.verdict, "KEEP");
  EXPECT_EQ(flow_.experiment(-0.02).attempt.verdict, "DISCARD");
  const std::vector<Record> records = flow_.records();
  const auto verified = verify_records(records, flow_.scratch.root());
  ASSERT_EQ(verified.size(), 3U);
  for (const VerifiedRecord& record : verified) {
    EXPECT_TRUE(record.faults.empty()) << record.id << ": " << record.faults.front();
  }
  EXPECT_EQ(count(records, "speed-test"), 2);
  EXPECT_GE(count(records, "block"), 15 + 2);
}

TEST_F(VerdictFlowTest, OneNanosecondIsFound) {
  flow_.baseline();
  flow_.experiment(0.02);
  ASSERT_TRUE(faults_of(flow_.records(), flow_).empty());
  const auto flip = [](json& ns) { ns = ns.get<std::int64_t>() + 1; };
  for (const std::string type : {"block", "baseline"}) {
    const auto records = edited(type, [&](json& body) {
      flip(type == "block" ? body["quads"][1]["ns"][2] : body["blocks"][3]["quads"][1]["ns"][2]);
    });
    EXPECT_FALSE(faults_of(records, flow_).empty()) << type;
  }
}

TEST_F(VerdictFlowTest, SeedCoinsLevelAndWordAreChecked) {
  flow_.baseline();
  flow_.experiment(0.02);
  const auto fault = [&](const std::string& type, const std::function<void(json&)>& edit) {
    const auto faults = faults_of(edited(type, edit), flow_);
    return faults.empty() ? std::string() : faults.front();
  };
  EXPECT_NE(fault("verdict", [](json& body) { body["seed"] = "0000000000000001"; })
                .find("the seed revealed is not the one"),
            std::string::npos);
  EXPECT_NE(fault("block",
                  [](json& body) {
                    json& order = body["quads"][0]["order"];
                    order = order == "ABBA" ? "BAAB" : "ABBA";
                  })
                .find("another order than its seed says"),
            std::string::npos);
  EXPECT_NE(fault("speed-test", [](json& body) { body["alpha"] = 0.5; }).find("speed-test.alpha"),
            std::string::npos);
  EXPECT_NE(fault("verdict",
                  [](json& body) {
                    body["verdict"] = "DISCARD";
                    body["reason"] = "speed";
                  })
                .find("its figures decide KEEP, it says DISCARD(speed)"),
            std::string::npos);
  EXPECT_NE(fault("intent", [](json& body) { body.erase("seed_commitment"); }), "");
}

TEST_F(VerdictFlowTest, SeedIsSecretUntilTheVerdict) {
  flow_.baseline();
  flow_.experiment(0.02);
  std::string seed;
  for (const Record& record : flow_.records()) {
    if (record.type == "verdict") seed = json::parse(record.body)["seed"];
  }
  ASSERT_EQ(seed.size(), 16U);
  for (const Record& record : flow_.records()) {
    if (record.type == "intent") {
      EXPECT_EQ(json::parse(record.body)["seed_commitment"].get<std::string>().size(), 64U);
    }
    if (record.type == "verdict") continue;
    EXPECT_EQ(record.body.find(seed), std::string::npos) << record.type;
  }
}

TEST_F(VerdictFlowTest, LevelsFollowTheCampaign) {
  flow_.baseline();
  flow_.experiment(-0.02);
  flow_.scratch.shell("git reset -q --hard HEAD^");
  flow_.experiment(0.02);
  flow_.experiment(-0.02);
  std::vector<std::pair<int, int>> seen;
  std::vector<double> levels;
  for (const Record& record : flow_.records()) {
    if (record.type != "speed-test") continue;
    const json body = json::parse(record.body);
    seen.emplace_back(body["test_index"], body["keeps_before"]);
    levels.push_back(body["alpha"]);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<int, int>>{{1, 0}, {2, 0}, {3, 1}}));
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_DOUBLE_EQ(levels[1], e_lond_alpha(0.05, 2, 0));
  EXPECT_DOUBLE_EQ(levels[2], e_lond_alpha(0.05, 3, 1));
}

}  // namespace
}  // namespace ditar
