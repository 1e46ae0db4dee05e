// What the fence holds, seen from inside it: a shell in place of a candidate.
#include "ditar/coordinator/isolation.h"
#include "ditar/coordinator/subprocess.h"
#include "temp_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace ditar {
namespace {

class FenceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    isolation_ = find_isolation();
    ASSERT_FALSE(isolation_.program.empty()) << isolation_.hindrance;
    for (std::string rest = GetParam(); !rest.empty();) {
      const std::size_t comma = rest.find(',');
      if (!isolation_.has(rest.substr(0, comma))) {
        GTEST_SKIP() << "this machine does not give the layer " << rest.substr(0, comma);
      }
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    isolation_.layers = GetParam();
    std::filesystem::create_directories(folder_ / "inside");
    std::ofstream(folder_ / "secret") << "canary\n";
  }

  ProcessResult shell(const std::string& line, std::chrono::seconds timeout = {}) {
    FencePlan plan;
    plan.writable = {folder_ / "inside"};
    const auto argv = fence_command(isolation_, plan);
    ProcessSpec spec;
    spec.program = argv.front();
    spec.arguments.assign(argv.begin() + 1, argv.end());
    spec.arguments.insert(spec.arguments.end(), {"/bin/sh", "-c", line});
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    if (timeout.count() > 0) spec.timeout = timeout;
    return run_process(spec);
  }
  std::string secret() const { return (folder_ / "secret").string(); }
  std::string inside() const { return (folder_ / "inside").string(); }

  TempFolder folder_;
  Isolation isolation_;
};

TEST_P(FenceTest, PassesOnExitCodesAndSignals) {
  EXPECT_EQ(shell("exit 7").exit_code, 7);
  EXPECT_EQ(shell("kill -KILL $$").exit_code, 128 + SIGKILL);
}

TEST_P(FenceTest, HidesFilesThatAreNotAdmitted) {
  const ProcessResult result = shell("cat " + secret());
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
}

TEST_P(FenceTest, LeavesWritingToTheAdmittedFoldersAlone) {
  EXPECT_EQ(shell("echo mine > " + inside() + "/file").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "inside/file"));
  (void)shell("echo other > " + secret());  // may write to a /tmp of its own
  EXPECT_NE(shell("echo x > /usr/ditar-fence-test").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists("/usr/ditar-fence-test"));
  std::ifstream file(folder_ / "secret");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "canary");
}

TEST_P(FenceTest, CannotLookIntoOrEndTheCoordinator) {
  const std::string self = std::to_string(::getpid());
  EXPECT_EQ(shell("cat /proc/" + self + "/environ | head -c 1").output, "");
  EXPECT_NE(shell("kill -TERM " + self).exit_code, 0);  // this test would end
}

TEST_P(FenceTest, NothingOutlivesTheCommand) {
  const std::string mark = inside() + "/alive";
  const ProcessResult result =
      shell("setsid sh -c 'sleep 1; echo alive > " + mark + "' >/dev/null 2>&1 & exit 0");
  EXPECT_EQ(result.exit_code, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_P(FenceTest, AKilledFenceTakesItsProcessesAlong) {
  const std::string mark = inside() + "/alive";
  const ProcessResult result =
      shell("sleep 2; echo alive > " + mark, std::chrono::seconds(1));  // SIGKILL at the limit
  EXPECT_TRUE(result.timed_out);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_P(FenceTest, ALayerThatCannotBeReachedIsAnErrorOfItsOwn) {
  isolation_.layers = "wall";
  const ProcessResult result = shell("exit 0");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_NE(result.errors.find("'wall' is no layer"), std::string::npos);
}

// The whole fence, and what is left where a container refuses namespaces.
INSTANTIATE_TEST_SUITE_P(Layers, FenceTest,
                         testing::Values("user,mount,pid,ipc,net,landlock,seccomp",
                                         "user,mount,pid,ipc,net,seccomp",
                                         "user,mount,ipc,landlock,seccomp", "landlock,seccomp"));

TEST(TrustLevelTest, NeedsAKernelHeldFenceForT2) {
  Isolation isolation;
  EXPECT_EQ(trust_level(isolation), TrustLevel::kT1);
  isolation.program = "/usr/bin/dit-isolate";
  isolation.layers = "seccomp";
  EXPECT_EQ(trust_level(isolation), TrustLevel::kT1);
  isolation.layers = "landlock,seccomp";
  EXPECT_EQ(trust_level(isolation), TrustLevel::kT2);
  EXPECT_FALSE(open_promises(isolation).empty());
}

}  // namespace
}  // namespace ditar
