// Whole experiments against scripted workers: what the ledger holds is enough to decide again, and
// nothing in it can be changed unseen.
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/coordinator/time_floor.h"
#include "ditar/coordinator/version.h"
#include "experiment/lane_metric.h"
#include "experiment/records.h"
#include "experiment/remeasure.h"
#include "experiment/speed_test.h"
#include "experiment/verify_records.h"
#include "experiment/weights_probe.h"
#include "scripted_flow.h"
#include "temp_folder.h"
#include "test_paths.h"

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

TEST_F(VerdictFlowTest, QuarantineMeasuresTheNoiseAnewAndReplays) {
  flow_.baseline();
  ASSERT_EQ(flow_.experiment(0.05, "kept in the quiet").attempt.verdict, "KEEP");
  flow_.world.process_noise = 0.02;
  const ExperimentOutcome outcome = flow_.experiment(0.4, "judged in the noise");
  EXPECT_EQ(outcome.attempt.verdict, "KEEP");
  const std::vector<Record> records = flow_.records();
  ASSERT_EQ(count(records, "quarantine"), 1);
  EXPECT_EQ(count(records, "calibration"), 1);
  EXPECT_EQ(count(records, "remeasure"), 1);  // of the best, which is doubted
  json test, again;
  for (const Record& record : records) {
    if (record.type == "speed-test") test = json::parse(record.body);
    if (record.type == "remeasure") again = json::parse(record.body);
  }
  EXPECT_EQ(test["round"], 2);
  EXPECT_EQ(test["test_index"], 2);
  EXPECT_GT(test["sigma0"].get<double>(), 0.02);
  EXPECT_EQ(test["controls_before"].size(), 0U);
  EXPECT_EQ(again["because"], "quarantine");
  // A round that was not in doubt may not be measured over again.
  std::vector<Record> calm = records;
  for (Record& record : calm) {
    json body = json::parse(record.body);
    if (record.type != "block" || body["kind"] != "control" || body["round"] != 1) continue;
    for (json& quad : body["quads"]) quad["ns"] = {1000, 1000, 1000, 1000};
    record.body = body.dump();
  }
  const std::vector<std::string> found = faults_of(calm, flow_);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string& fault) {
    return fault.find("was measured over again although") != std::string::npos;
  }));
  // The best stays the best until a person goes behind it, whatever was found.
  EXPECT_EQ(json::parse(records.back().body)["verdict"], "KEEP");
  EXPECT_TRUE(faults_of(records, flow_).empty());
}

TEST_F(VerdictFlowTest, NoiseBeyondTheLimitIsRetryAndGivesTheTestBack) {
  flow_.settings.lanes["scripted"].decision.sigma_limit = 0.012;
  flow_.baseline();
  flow_.world.process_noise = 0.03;
  const ExperimentOutcome outcome = flow_.experiment(0.4);
  EXPECT_EQ(outcome.attempt.verdict, "RETRY");
  EXPECT_EQ(outcome.attempt.reason, "noise");
  EXPECT_EQ(outcome.last_line, "RETRY: dit-ar experiment");
  EXPECT_EQ(campaign_state(flow_.records(), "dec5", "").test_index, 1);
  EXPECT_TRUE(faults_of(flow_.records(), flow_).empty());
  EXPECT_THROW(flow_.baseline(), Error);  // measures as noisily
  EXPECT_TRUE(faults_of(flow_.records(), flow_).empty());
}

TEST_F(VerdictFlowTest, TenthKeepIsMeasuredAgainstTheOriginal) {
  flow_.baseline();
  for (int i = 1; i <= 10; ++i) {
    ASSERT_EQ(flow_.experiment(0.03 * i).attempt.verdict, "KEEP") << i;
    ASSERT_EQ(count(flow_.records(), "head-to-head"), i / 10);
  }
  const std::vector<Record> records = flow_.records();
  ASSERT_EQ(records.back().type, "head-to-head");
  const json numbers = json::parse(records.back().body)["numbers"];
  EXPECT_NEAR(numbers["speedup_percent"].get<double>(), 100.0 * std::expm1(0.3), 1.0);
  EXPECT_TRUE(faults_of(records, flow_).empty());
}

TEST_F(VerdictFlowTest, RemeasureRebuildsFromTheRefAndRecordsWhatItFound) {
  flow_.baseline();
  flow_.experiment(0.03, "real");
  flow_.scratch.shell("git reset -q --hard HEAD^");
  const int built = flow_.world.rebuilt;
  SilentProgress progress;
  const RemeasureOutcome holds =
      run_remeasure_flow(flow_.project(), flow_.parts(), "last", progress);
  EXPECT_TRUE(holds.upheld) << holds.line;
  EXPECT_EQ(flow_.world.rebuilt, built + 2);
  const RemeasureOutcome best =
      run_remeasure_flow(flow_.project(), flow_.parts(), "best", progress);
  EXPECT_NE(best.line.find("cumulative gain"), std::string::npos);
  const std::vector<Record> records = flow_.records();
  EXPECT_EQ(count(records, "remeasure"), 1);
  EXPECT_EQ(count(records, "head-to-head"), 1);
  EXPECT_TRUE(faults_of(records, flow_).empty());
  const auto changed = edited("remeasure", [](json& body) { body["upheld"] = false; });
  EXPECT_FALSE(faults_of(changed, flow_).empty());
}

TEST(LaneMetricTest, ShiftNamesThePhasesThatMovedMost) {
  const auto ranks = [](double attention, double gemm, double norm) {
    RankReport rank;
    rank.phases = {
        {"attention", attention, 1, 0, 0}, {"gemm", gemm, 1, 0, 0}, {"norm", norm, 1, 0, 0}};
    return std::vector<RankReport>{rank, rank};
  };
  EXPECT_EQ(phase_shift(ranks(30, 60, 10), ranks(10, 60, 10)),
            "attention 30.0 % -> 12.5 %, gemm 60.0 % -> 75.0 %, norm 10.0 % -> 12.5 %");
  EXPECT_EQ(phase_shift({}, ranks(1, 1, 1)), "");
  EXPECT_EQ(metric_text({{"metric_bytes", 2.5e6}}), "2.5 MB");
  EXPECT_EQ(metric_text({{"metric_seconds", 0.5}, {"images_per_second", 16.0}}), "16.00 images/s");
  EXPECT_EQ(metric_text({{"metric_seconds", 0.5}}), "500.000 ms per request");
}

TEST(QuickProfileTest, IsWhatTheShippedCpuLaneUses) {
  const Settings shipped =
      read_settings(std::filesystem::path(DITAR_SOURCE_DIR) / "config/autoresearch.json");
  EXPECT_EQ(to_json(decision_params(shipped.lane("cpu-mnist"))), to_json(quick_profile()));
}

TEST_F(VerdictFlowTest, OutputsThatDifferAreNoSpeed) {
  flow_.baseline();
  flow_.world.lies = true;
  const ExperimentOutcome outcome = flow_.experiment(0.2);
  EXPECT_EQ(outcome.attempt.verdict, "DISCARD");
  EXPECT_EQ(outcome.attempt.reason, "quality");
  EXPECT_TRUE(faults_of(flow_.records(), flow_).empty());
}

TEST_F(VerdictFlowTest, AnswersThatDifferOnlyWhenTimedAreFound) {
  flow_.baseline();
  flow_.settings.lanes["scripted"].steps = 2;
  flow_.world.lies_when_timed = true;
  flow_.commit(0.03, "faster");
  SilentProgress progress;
  ExperimentRequest request;
  request.classification = "numerical";
  request.description = "faster";
  const auto outcome = run_experiment_flow(flow_.project(), flow_.parts(), request, progress);
  EXPECT_EQ(outcome.attempt.verdict, "DISCARD");
  EXPECT_EQ(outcome.attempt.reason, "quality");
  EXPECT_NE(outcome.attempt.why.find("untimed"), std::string::npos) << outcome.attempt.why;
}

TEST_F(VerdictFlowTest, WeightsThatAreNotReadAreFound) {
  flow_.baseline();
  flow_.world.keeps_old_weights = true;
  const ExperimentOutcome outcome = flow_.experiment(0.03);
  EXPECT_EQ(outcome.attempt.reason, "quality");
  EXPECT_NE(outcome.attempt.why.find("does not feel a changed blocks.0.mlp.fc1.weight"),
            std::string::npos)
      << outcome.attempt.why;
}

TEST(ProbeModelTest, ExchangesTheHalvesOfOneBlockAndNothingElse) {
  const TempFolder folder;
  const std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, c = {9};
  const std::vector<SafetensorsItem> items = {
      {"blocks.0.mlp.fc1.weight", StoredType::kF32, {4, 1}, std::as_bytes(std::span(a))},
      {"blocks.1.mlp.fc1.weight", StoredType::kF32, {4, 1}, std::as_bytes(std::span(b))},
      {"blocks.1.mlp.fc1.bias", StoredType::kF32, {1}, std::as_bytes(std::span(c))}};
  write_safetensors(folder / "m.safetensors", items, {{"k", "v"}});
  const ProbeModel probe = write_probe_model(folder / "m.safetensors", folder / "p", 3);
  EXPECT_EQ(probe.changed, "blocks.1.mlp.fc1.weight");
  const SafetensorsFile file(probe.path);
  EXPECT_EQ(read_f32(file.at("blocks.0.mlp.fc1.weight")), a);
  EXPECT_EQ(read_f32(file.at("blocks.1.mlp.fc1.weight")), (std::vector<float>{7, 8, 5, 6}));
  EXPECT_EQ(read_f32(file.at("blocks.1.mlp.fc1.bias")), c);
  EXPECT_EQ(file.metadata().at("k"), "v");
  write_safetensors(folder / "n.safetensors", std::span(items).last(1));
  EXPECT_THROW(write_probe_model(folder / "n.safetensors", folder / "p", 0), DataError);
}

TEST_F(VerdictFlowTest, TracesOfTheCandidateAreItsVerdict) {
  flow_.baseline();
  const std::vector<std::pair<WorkerTraces, std::string>> cases = {
      {{{"replay"}, {}, ""}, "traces"},
      {{{}, {"dit-worker (17)"}, ""}, "traces"},
      {{{}, {}, "KEEP speedup_percent=50"}, "report"}};
  double gain = 0.03;
  for (const auto& [traces, reason] : cases) {
    flow_.world.traces = traces;
    const ExperimentOutcome outcome = flow_.experiment(gain += 0.001);
    EXPECT_EQ(outcome.attempt.reason, reason) << outcome.attempt.why;
    flow_.scratch.shell("git reset -q --hard HEAD^");
  }
}

TEST_F(VerdictFlowTest, ATimeThatTheArithmeticForbidsIsSuspect) {
  // A scripted request takes 10 ms. Two tokens of width 100 in 10 blocks are 4.816e6 FLOPs a step;
  // two steps at four times 2.5285e8 per second take 9.523 ms.
  flow_.world.model.patch = 1;
  flow_.world.model.height = 2;
  flow_.world.model.width = 1;
  flow_.world.model.hidden = 100;
  flow_.world.model.depth = 10;
  flow_.world.rate.matmul_flops_per_s = 2.5285e8;
  flow_.baseline();
  EXPECT_EQ(flow_.experiment(0.03, "above the floor").attempt.verdict, "KEEP");
  const ExperimentOutcome below = flow_.experiment(0.2, "below the floor");
  EXPECT_EQ(below.last_line.substr(0, 16), "DISCARD(suspect)") << below.last_line;
  EXPECT_NE(below.attempt.why.find("9.523 ms"), std::string::npos) << below.attempt.why;
  EXPECT_TRUE(faults_of(flow_.records(), flow_).empty());
}

TEST_F(VerdictFlowTest, AnotherToolThanTheBaselinesIsRefused) {
  flow_.world.tools = {{"git", "/usr/bin/git", std::string(64, '1')},
                       {"c++", "/usr/bin/g++", std::string(64, '2')}};
  flow_.baseline();
  EXPECT_EQ(flow_.experiment(0.03).attempt.verdict, "KEEP");
  const auto refused = [this](double gain) -> std::string {
    try {
      flow_.experiment(gain);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kRules);
      return error.message();
    }
    return "not refused";
  };
  flow_.world.tools[1].path = "/home/user/bin/c++";
  EXPECT_NE(refused(0.05).find("c++ is /home/user/bin/c++"), std::string::npos);
  flow_.world.tools[1] = {"c++", "/usr/bin/g++", std::string(64, '3')};
  EXPECT_NE(refused(0.06).find("sha256 333333333333"), std::string::npos);
}

TEST(TrustedToolsTest, AreTheMachinesOwn) {
  Settings settings;
  settings.build.environment_allow = {"PATH"};
  for (const TrustedTool& tool : trusted_tools(settings, LaneConfig{})) {
    EXPECT_EQ(tool.path.front(), '/') << tool.name;
    EXPECT_EQ(tool.sha256.size(), 64U) << tool.name;
  }
  EXPECT_EQ(trusted_tools(settings, LaneConfig{}).size(), 5U);
}

TEST(TimeFloorTest, OwesWhatItsClassPromises) {
  const TimeFloor floor{1e9, 5e10, 10, "fp32", false};
  EXPECT_DOUBLE_EQ(floor.least_ns("exact"), 5e7);
  EXPECT_DOUBLE_EQ(floor.least_ns("numerical"), 5e7);
  EXPECT_DOUBLE_EQ(floor.least_ns("approximate"), 5e6);
  EXPECT_DOUBLE_EQ(floor.least_ns("quantization"), 1.25e6);
  TimeFloor gpu = floor;
  gpu.on_gpu = true;
  EXPECT_DOUBLE_EQ(gpu.least_ns("exact"), 5e7 / 16.0);
  gpu.precision = "fp16";
  EXPECT_DOUBLE_EQ(gpu.least_ns("exact"), 5e7);
  EXPECT_EQ(TimeFloor{}.least_ns("exact"), 0.0);
  const TimeFloor again = time_floor_from(to_json(floor));
  EXPECT_DOUBLE_EQ(again.least_ns("exact"), 5e7);
}

TEST(TimeFloorTest, ArithmeticFollowsFromTheDimensions) {
  LoadReply model;
  EXPECT_EQ(dit_step_flops(model, 2.0), 0.0);
  model.patch = 2;
  model.height = model.width = 32;
  model.hidden = 1152;
  model.depth = 28;
  // DiT-XL/2 at 256 px: 118.6 GMAC = 237 GFLOP a forward of one image, embeddings included.
  EXPECT_NEAR(dit_step_flops(model, 1.0), 237e9, 0.05 * 237e9);
}

TEST(TimeFloorTest, ReadsTheWorkersProfile) {
  const json groups = {{{"ms", 2.0}, {"flops", 4e8}}, {{"ms", 0.0}, {"flops", 0.0}}};
  const json profile = {{"measured",
                         {{"device", "cpu"},
                          {"precision", "fp32"},
                          {"groups", groups},
                          {"ceilings", {{"matmul_tflops", 0.1}}}}}};
  const TimeFloor rate = measured_rate(profile);
  EXPECT_DOUBLE_EQ(rate.matmul_flops_per_s, 2e11);  // the model's own product was faster
  EXPECT_EQ(rate.precision, "fp32");
  EXPECT_FALSE(rate.on_gpu);
  EXPECT_EQ(rate.least_ns("exact"), 0.0);
  EXPECT_THROW(measured_rate(json::object()), DataError);
}

TEST_F(VerdictFlowTest, AnotherProgramThanTheBaselinesIsRefused) {
  flow_.baseline();
  json body;
  for (const Record& record : flow_.records()) {
    if (record.type == "baseline") body = json::parse(record.body);
  }
  EXPECT_EQ(body.value("dit_ar_sha256", ""), program_sha256());
  body["dit_ar_sha256"] = std::string(64, 'a');
  Ledger::open(flow_.project().layout.root, LedgerMode::kWrite).append("baseline", body.dump());
  try {
    flow_.experiment(0.02);
    FAIL() << "a dit-ar that did not measure the baseline judged by it";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kRules);
    EXPECT_NE(error.message().find("dit-ar baseline"), std::string::npos) << error.message();
  }
}

TEST_F(VerdictFlowTest, ReceiptTellsTheCoordinatorsOwnTime) {
  flow_.baseline();
  const ExperimentOutcome outcome = flow_.experiment(0.02);
  const json receipt =
      json::parse(ScratchRepository::read(flow_.scratch.root() / outcome.attempt.receipt));
  const json& seconds = receipt.at("seconds");
  EXPECT_GT(seconds.at("overhead").get<double>(), 0.0);
  EXPECT_GT(seconds.at("worker").get<double>(), 0.0);
  EXPECT_NEAR(seconds.at("total").get<double>(),
              seconds.at("overhead").get<double>() + seconds.at("worker").get<double>() +
                  seconds.at("build").get<double>(),
              1e-6);
  EXPECT_EQ(receipt.at("dit_ar_sha256"), program_sha256());
}

TEST_F(VerdictFlowTest, MemoryAndThroughputLanesCountInTheirOwnUnit) {
  LaneConfig& lane = flow_.settings.lanes["scripted"];
  lane.metric = "throughput";
  lane.images = 8;
  flow_.baseline();
  flow_.experiment(0.05);
  const auto verdict = [&] {
    for (const auto records = flow_.records(); const Record& record : records) {
      if (record.type == "verdict") return json::parse(record.body);
    }
    return json();
  }();
  EXPECT_NEAR(verdict["images_per_second"].get<double>() * verdict["metric_seconds"].get<double>(),
              8.0, 1e-9);
  QuadRecord quad;
  quad.cost = {4096, 2048, 2048, 4096};
  const std::vector<BlockRecord> bytes = {{BlockKind::kScreen, {quad}, false, ""}};
  EXPECT_EQ(metric_fields("peak_memory", 8, bytes, true)["metric_bytes"], 2048.0);
  EXPECT_EQ(metric_fields("peak_memory", 8, bytes, true).count("metric_seconds"), 0U);
}

}  // namespace
}  // namespace ditar
