// What ends by itself: an experiment when its time is up, and the mending of a crash after two
// tries. Whole flows against scripted workers and a scripted clock.
#include "ditar/config/error.h"
#include "experiment/verify_records.h"
#include "scripted_flow.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ditar {
namespace {

class LimitsFlowTest : public testing::Test {
 protected:
  void SetUp() override {
    flow_.settings.budgets.experiment_seconds = 100;
    flow_.baseline();
  }
  nlohmann::json last_verdict() const {
    nlohmann::json body;
    for (const Record& record : flow_.records()) {
      if (record.type == "verdict") body = nlohmann::json::parse(record.body);
    }
    return body;
  }
  std::vector<std::string> faults_of(const std::vector<Record>& records) const {
    std::vector<std::string> out;
    for (const VerifiedRecord& one : verify_records(records, flow_.scratch.root())) {
      out.insert(out.end(), one.faults.begin(), one.faults.end());
    }
    return out;
  }
  /// A crash of `variant` under one description; the commit stays, as for git commit --amend.
  ExperimentOutcome crash(const std::string& variant, const std::string& description) {
    flow_.scratch.shell("git reset -q --hard refs/dit-ar/dec5/scripted/best");
    flow_.commit_broken(variant);
    return flow_.run(description);
  }

  ScriptedFlow flow_;
};

TEST_F(LimitsFlowTest, BuildBeyondTheLimitIsACrashOfTheBuild) {
  flow_.world.build_seconds = 101.0;  // the originals' builds before do not count
  const ExperimentOutcome outcome = flow_.experiment(0.02);
  EXPECT_EQ(outcome.last_line.substr(0, 12), "CRASH(build)") << outcome.last_line;
  EXPECT_NE(outcome.attempt.why.find("experiment_seconds: 100"), std::string::npos);
  flow_.world.build_seconds = 99.0;
  flow_.scratch.shell("git reset -q --hard HEAD^");
  EXPECT_EQ(flow_.experiment(0.03, "in time").attempt.verdict, "KEEP");
}

TEST_F(LimitsFlowTest, SuiteBeyondTheLimitIsAHang) {
  flow_.world.request_seconds = 60.0;
  const ExperimentOutcome outcome = flow_.experiment(0.02);
  EXPECT_EQ(outcome.attempt.verdict, "CRASH");
  EXPECT_EQ(outcome.attempt.reason, "hang");
  EXPECT_NE(outcome.attempt.why.find("after 100 s"), std::string::npos) << outcome.attempt.why;
  EXPECT_NE(outcome.attempt.why.find("2 of 6 parts"), std::string::npos) << outcome.attempt.why;
  EXPECT_TRUE(faults_of(flow_.records()).empty());
}

TEST_F(LimitsFlowTest, OpenComparisonBeyondTheLimitIsUnresolvedAndVerifies) {
  flow_.world.request_seconds = 4.0;  // the suite fits, the speed test does not
  const ExperimentOutcome outcome = flow_.experiment(0.02);
  EXPECT_EQ(outcome.attempt.verdict, "DISCARD");
  EXPECT_EQ(outcome.attempt.reason, "unresolved");
  EXPECT_NE(outcome.attempt.why.find("undecided after 100 s"), std::string::npos)
      << outcome.attempt.why;
  EXPECT_TRUE(faults_of(flow_.records()).empty()) << faults_of(flow_.records()).front();
  // The same end is not believed of an experiment that had time left.
  std::vector<Record> records = flow_.records();
  for (Record& record : records) {
    if (record.type != "verdict") continue;
    nlohmann::json body = nlohmann::json::parse(record.body);
    body["used_seconds"] = 50.0;
    record.body = body.dump();
  }
  EXPECT_FALSE(faults_of(records).empty());
}

TEST_F(LimitsFlowTest, ACrashMayBeMendedTwice) {
  EXPECT_NE(crash("a", "one idea").attempt.next_step.find("2 tries are left"), std::string::npos);
  EXPECT_NE(crash("b", "one idea").attempt.next_step.find("1 try is left"), std::string::npos);
  const ExperimentOutcome third = crash("c", "one idea");
  EXPECT_EQ(third.attempt.verdict, "CRASH");
  EXPECT_NE(third.attempt.next_step.find("mended twice and still crashes"), std::string::npos)
      << third.attempt.next_step;
  const std::size_t before = flow_.records().size();
  try {
    crash("d", "one idea");
    FAIL() << "a third mend was measured";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kRules);
    EXPECT_NE(error.message().find("git reset --hard HEAD^"), std::string::npos);
  }
  EXPECT_EQ(flow_.records().size(), before);
}

TEST_F(LimitsFlowTest, AMendedCrashAndAnotherIdeaAreMeasured) {
  crash("a", "one idea");
  crash("b", "one idea");
  flow_.scratch.shell("git reset -q --hard HEAD^");
  EXPECT_EQ(flow_.experiment(0.02, "one idea").attempt.verdict, "KEEP") << "the second mend";
  // On the new best the same words are a hypothesis of their own.
  EXPECT_NE(crash("c", "one idea").attempt.next_step.find("2 tries are left"), std::string::npos);
}

TEST_F(LimitsFlowTest, OnlyACrashOfTheBuildLooksTrivial) {
  EXPECT_EQ(crash("a", "build").attempt.next_step.find("this looks trivial"), 0U);
  flow_.world.request_seconds = 60.0;
  flow_.scratch.shell("git reset -q --hard HEAD^");
  EXPECT_EQ(flow_.experiment(0.02, "hang").attempt.next_step.find("this does not look trivial"),
            0U);
}

}  // namespace
}  // namespace ditar
