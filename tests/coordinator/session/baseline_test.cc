// The set-up that the other session tests share: a scratch clone with a measured baseline.
#include "scratch_session.h"
#include "test_paths.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(SessionSetUp, MeasuresABaselineInAScratchClone) {
  if (!std::filesystem::exists(std::filesystem::path(DITAR_SOURCE_DIR) / ".git")) {
    FAIL() << "these tests clone the repository; run them in a git checkout";
  }
  const std::string fault = ScratchSession::make_clone();
  ASSERT_EQ(fault, "");
  const ScratchSession session;
  const ProcessResult init = session.dit_ar({"init"});
  ASSERT_EQ(init.exit_code, 0) << init.output << init.errors;
  const ProcessResult baseline = session.dit_ar({"baseline", "--json"});
  ASSERT_EQ(baseline.exit_code, 0) << baseline.output << baseline.errors;
  const auto document = nlohmann::json::parse(baseline.output);
  EXPECT_EQ(document["commit"], session.git("rev-parse HEAD"));
  session.keep_state();
}

}  // namespace
}  // namespace ditar
