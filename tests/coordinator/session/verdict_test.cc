// KEEP, DISCARD and CRASH on real commits: each case makes one, and the whole path judges it. The
// verdicts asked for do not hang on the machine's noise: outputs decide them, or an effect that is
// many times larger.
#include "scratch_session.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

class SessionVerdictTest : public testing::Test {
 protected:
  void SetUp() override { session_.restore(); }
  /// The verdict on the commit of the present changes.
  std::string verdict(const std::string& classification, const std::string& description) {
    session_.commit(description);
    document_ = session_.experiment(classification, description);
    return verdict_of(document_);
  }
  std::string why() const { return document_.value("why", ""); }
  std::string best() const { return session_.git("rev-parse refs/dit-ar/tests/cpu-mnist/best"); }
  nlohmann::json receipt() const {
    return nlohmann::json::parse(session_.read(document_.value("receipt", "")), nullptr, false);
  }
  void before_the_blocks(const std::string& code) {
    session_.edit({{kBlockFile, kBlockLoop, code + "\n  " + kBlockLoop}});
  }

  ScratchSession session_;
  nlohmann::json document_;
};

TEST_F(SessionVerdictTest, FasterCpuKernelIsKept) {
  session_.edit({{kProductFile, kSlowedProduct, ""}});
  ASSERT_EQ(verdict("exact", "every product once instead of four times"), "KEEP") << why();
  EXPECT_EQ(document_["audited_class"], "exact");
  EXPECT_GT(document_["speedup_low_percent"].get<double>(), 0.0);
  EXPECT_EQ(best(), session_.git("rev-parse HEAD"));
  const auto verified = session_.dit_ar({"verify"});
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
}

TEST_F(SessionVerdictTest, SlowerCpuKernelIsDiscardedForSpeed) {
  const std::string before = best();
  session_.edit({{kProductFile, "again < 4", "again < 12"}});
  EXPECT_EQ(verdict("exact", "every product three times as often"), "DISCARD(speed)") << why();
  EXPECT_EQ(best(), before);
}

TEST_F(SessionVerdictTest, CommentAloneIsNoChange) {
  session_.write(kBlockFile, session_.read(kBlockFile) + "// A remark.\n");
  EXPECT_EQ(verdict("exact", "a comment"), "DISCARD(no change)") << why();
}

TEST_F(SessionVerdictTest, SkippedBlockClaimedExactIsAnotherClass) {
  session_.edit({{kBlockFile, "++i) block(i, clock);", "++i) if (i != 1) block(i, clock);"}});
  EXPECT_EQ(verdict("exact", "the second block left out"), "DISCARD(class)") << why();
  EXPECT_EQ(document_["audited_class"], "approximate");
}

TEST_F(SessionVerdictTest, HalfTheStepsClaimedNumericalIsAnotherClass) {
  session_.set_knob("step_stride", 2);
  EXPECT_EQ(verdict("numerical", "every second step"), "DISCARD(class)") << why();
}

TEST_F(SessionVerdictTest, Int8WeightsClaimedExactIsAnotherClass) {
  session_.set_knob("int8_weights", true);
  EXPECT_EQ(verdict("exact", "weights rounded to INT8"), "DISCARD(class)") << why();
}

TEST_F(SessionVerdictTest, Int8WeightsClaimedQuantizationAreJudgedOnScores) {
  session_.set_knob("int8_weights", true);
  const std::string said = verdict("quantization", "weights rounded to INT8");
  EXPECT_TRUE(said == "DISCARD(quality)" || said == "DISCARD(speed)" || said == "KEEP") << said;
  const nlohmann::json gate = receipt()["quality"]["gate"];
  ASSERT_TRUE(gate.contains("scores")) << gate.dump();
  std::vector<std::string> names;
  for (const nlohmann::json& score : gate["scores"]) {
    names.push_back(score["name"]);
    EXPECT_EQ(score["allowed"], 0.0) << "quantization has zero regression: " << score.dump();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"accuracy", "frechet"}));
  EXPECT_EQ(said == "DISCARD(quality)", !gate["pass"].get<bool>());
}

TEST_F(SessionVerdictTest, CompileErrorIsACrashOfTheBuild) {
  session_.write(kBlockFile, session_.read(kBlockFile) + "static_assert(false, \"a mistake\");\n");
  EXPECT_EQ(verdict("exact", "does not compile"), "CRASH(build)");
  EXPECT_NE(why().find("a mistake"), std::string::npos) << why();
}

TEST_F(SessionVerdictTest, SegmentationFaultIsACrashOfTheRun) {
  before_the_blocks("volatile int* nowhere = nullptr;\n  *nowhere = 1;");
  EXPECT_EQ(verdict("exact", "writes through a null pointer"), "CRASH(run)") << why();
  EXPECT_NE(why().find("signal 11"), std::string::npos) << why();
}

TEST_F(SessionVerdictTest, EndlessLoopIsAHang) {
  before_the_blocks("for (volatile bool forever = true; forever;) {\n  }");
  EXPECT_EQ(verdict("exact", "never ends"), "CRASH(hang)") << why();
}

TEST_F(SessionVerdictTest, EditOfAFixedPathIsAgainstTheRules) {
  session_.write("worker/include/ditar/worker/engine.h",
                 session_.read("worker/include/ditar/worker/engine.h") + "// A remark.\n");
  EXPECT_EQ(verdict("exact", "edits the fixed header"), "DISCARD(rules)");
  EXPECT_NE(why().find("engine.h"), std::string::npos) << why();
}

TEST_F(SessionVerdictTest, TwoCommitsAtOnceAreAgainstTheRules) {
  session_.set_knob("batch_guidance", true);
  session_.commit("the first of two");
  session_.set_knob("fuse_gate_norm", false);
  EXPECT_EQ(verdict("exact", "the second of two"), "DISCARD(rules)");
  EXPECT_NE(why().find("exactly one commit"), std::string::npos) << why();
}

}  // namespace
}  // namespace ditar
