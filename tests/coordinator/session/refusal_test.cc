// What an experiment is refused for before anything is measured: one clear sentence with the mend,
// exit code 67, and no record of it.
#include "scratch_session.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

class SessionRefusalTest : public testing::Test {
 protected:
  void SetUp() override { session_.restore(); }
  void expect_refused(const std::string& with) {
    const std::string ledger = session_.read(".autoresearch/ledger.jsonl");
    const ProcessResult result = session_.dit_ar(
        {"experiment", "--classification", "exact", "--description", "not to be measured"});
    EXPECT_EQ(result.exit_code, 67) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors.find(with), std::string::npos) << result.errors;
    EXPECT_EQ(session_.read(".autoresearch/ledger.jsonl"), ledger);
  }

  ScratchSession session_;
};

TEST_F(SessionRefusalTest, DirtyTree) {
  session_.set_knob("batch_guidance", true);
  expect_refused("the working tree is not clean ('config/engine.json')");
}

TEST_F(SessionRefusalTest, WrongBranch) {
  session_.git("switch -q -c elsewhere");
  session_.set_knob("batch_guidance", true);
  session_.commit("a change on another branch");
  expect_refused("the branch 'elsewhere' is no research branch");
}

TEST_F(SessionRefusalTest, BranchWithoutASession) {
  session_.git("switch -q -c autoresearch/unbegun");
  session_.set_knob("batch_guidance", true);
  session_.commit("a change without a session");
  expect_refused("start one with: dit-ar init");
}

TEST_F(SessionRefusalTest, NoBaseline) {
  session_.git("switch -q -c autoresearch/unmeasured");
  ASSERT_EQ(session_.dit_ar({"init"}).exit_code, 0);
  session_.set_knob("batch_guidance", true);
  session_.commit("a change before the baseline");
  expect_refused("dit-ar baseline");
}

TEST_F(SessionRefusalTest, NothingNewToMeasure) {
  expect_refused("HEAD is the lane's best already");
}

}  // namespace
}  // namespace ditar
