// The loop as a person types it, line by line and with nothing else: doctor, init, baseline,
// search, edit, commit, experiment, git reset --hard HEAD^ after a DISCARD, git commit --amend
// after a CRASH.
#include "scratch_session.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

class SeedLoopTest : public testing::Test {
 protected:
  void SetUp() override { session_.restore(); }
  /// Types the line; it must end with 0. @return its last line of output
  std::string type(const std::string& line) {
    const ProcessResult result = session_.bash(line);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.output << result.errors;
    output_ = result.output;
    const std::string text = output_.substr(0, output_.find_last_not_of('\n') + 1);
    return text.substr(text.rfind('\n') + 1);
  }
  /// The same for an experiment; RETRY is obeyed, as its line says.
  std::string experiment(std::string line) {
    constexpr int kTries = 4;
    std::string last;
    for (int tried = 0; tried < kTries; ++tried) {
      const ProcessResult result = session_.bash(line);
      output_ = result.output;
      const std::string text = output_.substr(0, output_.find_last_not_of('\n') + 1);
      last = text.substr(text.rfind('\n') + 1);
      if (!last.starts_with("RETRY: ")) {
        EXPECT_EQ(result.exit_code, 0) << output_ << result.errors;
        break;
      }
      line = last.substr(std::string("RETRY: ").size());
    }
    return last;
  }

  ScratchSession session_;
  std::string output_;
};

TEST_F(SeedLoopTest, ByHandWithItsLiteralCommandLines) {
  type("git switch -q -c autoresearch/semilla");
  type("dit-ar --config config/autoresearch.json doctor");
  type("dit-ar --config config/autoresearch.json init");
  type("dit-ar --config config/autoresearch.json baseline");
  const std::string original = session_.git("rev-parse HEAD");
  type("dit-ar --config config/autoresearch.json search \"a + b + c\"");
  type(
      "dit-ar --config config/autoresearch.json search "
      "\"fused norm + launch overhead + DiT sm_86\"");
  EXPECT_NE(output_.find(".md"), std::string::npos) << output_;

  session_.set_knob("step_stride", 2);
  type("git commit -qam \"config: Visit every second step\"");
  std::string last = experiment(
      "dit-ar --config config/autoresearch.json experiment \\\n"
      "  --classification numerical \\\n"
      "  --description \"La mitad de los pasos: ¿señal más rápida con la misma calidad?\"");
  EXPECT_TRUE(last.starts_with("DISCARD(class) ")) << output_;
  EXPECT_NE(output_.find("git reset --hard HEAD^"), std::string::npos) << output_;
  type("git reset --hard HEAD^");
  EXPECT_EQ(session_.git("rev-parse HEAD"), original);
  EXPECT_TRUE(std::filesystem::exists(session_.root() / ".autoresearch/runs/semilla-0001"));

  session_.edit({{kProductFile, kSlowedProduct, "unknown_word "}});
  type("git commit -qam \"kernels: Compute each product once\"");
  const std::string idea =
      "dit-ar --config config/autoresearch.json experiment \\\n"
      "  --classification exact \\\n"
      "  --description \"Cada producto una sola vez: menos trabajo por bloque\"";
  last = experiment(idea);
  EXPECT_TRUE(last.starts_with("CRASH(build) ")) << output_;
  EXPECT_NE(output_.find("git commit --amend"), std::string::npos) << output_;
  session_.edit({{kProductFile, "unknown_word ", ""}});
  type("git commit -qa --amend --no-edit");
  last = experiment(idea);
  EXPECT_TRUE(last.starts_with("KEEP ")) << output_;
  EXPECT_EQ(session_.git("rev-parse refs/dit-ar/semilla/cpu-mnist/best"),
            session_.git("rev-parse HEAD"));

  type("dit-ar --config config/autoresearch.json status");
  EXPECT_NE(output_.find("1 CRASH, 1 DISCARD, 1 KEEP"), std::string::npos) << output_;
  const std::string table = session_.read(".autoresearch/results.tsv");
  EXPECT_NE(table.find("La mitad de los pasos: ¿señal más rápida con la misma calidad?"),
            std::string::npos)
      << table;
  type("dit-ar --config config/autoresearch.json verify");
}

}  // namespace
}  // namespace ditar
