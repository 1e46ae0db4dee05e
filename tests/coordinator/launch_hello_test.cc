// Groups that are not what the plan says: lies in the hello, and a worker started by hand.
#include "child_process.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "launch_fixture.h"
#include "test_paths.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

class LaunchHelloTest : public LaunchFixture {
 protected:
  WorkerFailure failure_of_lie(const std::string& lie) {
    auto liar = plan(1);
    liar.worker = std::string(DITAR_BINARY_DIR) + "/tests/liar-worker";
    liar.environment["DITAR_LIE"] = lie;
    liar.environment["DITAR_HASH"] = sha256_file(liar.worker);
    liar.deadlines.hello = std::chrono::seconds(5);
    return ditar::failure_of([&] { (void)WorkerSession::launch(liar); });
  }
  void expect_refused(const std::string& lie, const std::string& words) {
    const auto failure = failure_of_lie(lie);
    EXPECT_EQ(failure.phase(), WorkerPhase::kHello) << lie;
    EXPECT_EQ(failure.kind(), WorkerFailureKind::kRefused) << lie << ": " << failure.message();
    EXPECT_NE(failure.message().find(words), std::string::npos) << failure.message();
    // The worker was told why, and ended with the protocol's exit code.
    EXPECT_EQ(failure.worker_exit_code(), 76) << lie << ": " << failure.log_tail();
    EXPECT_NE(failure.log_tail().find("refused"), std::string::npos) << failure.log_tail();
  }
};

TEST_F(LaunchHelloTest, RefusesOtherProtocolVersions) {
  expect_refused("newer", "protocol version 2");
  expect_refused("older", "protocol version 0");
}
TEST_F(LaunchHelloTest, RefusesAnotherBuild) { expect_refused("build", "another build"); }
TEST_F(LaunchHelloTest, RefusesAGuessedNonce) { expect_refused("nonce", "secret"); }
TEST_F(LaunchHelloTest, RefusesAWrongSize) { expect_refused("size", "2 ranks"); }
TEST_F(LaunchHelloTest, RefusesAnotherDevice) { expect_refused("device", "GPU-1234"); }
TEST_F(LaunchHelloTest, RefusesOtherThreads) { expect_refused("threads", "8 threads"); }
TEST_F(LaunchHelloTest, RefusesATextThatIsNone) { expect_refused("garbage", "not as agreed"); }
TEST_F(LaunchHelloTest, RefusesFramesOfAnotherAttempt) {
  expect_refused("attempt", "another attempt");
}
TEST_F(LaunchHelloTest, RefusesAnAnswerBeforeTheHello) {
  EXPECT_EQ(failure_of_lie("early").kind(), WorkerFailureKind::kProtocol);
}

TEST_F(LaunchHelloTest, WorkerStartedByHandRefusesToBeASilentSingleton) {
  const std::string worker = std::string(DITAR_BINARY_DIR) + "/tests/fake-worker";
  const auto output =
      run_command({worker, "--coord", "ipc:///tmp/nowhere", "--attempt", std::string(32, 'a')},
                  {"DITAR_PLACEMENT=cpu/1/"}, std::chrono::seconds(10));
  EXPECT_EQ(output.status.exit_code, to_int(ExitCode::kUsage)) << output.text;
  EXPECT_NE(output.text.find("not started by mpirun"), std::string::npos) << output.text;
}

TEST_F(LaunchHelloTest, WorkerExplainsABadCommandLine) {
  const std::string worker = std::string(DITAR_BINARY_DIR) + "/tests/fake-worker";
  const auto output = run_command({worker, "--cord", "x"}, {}, std::chrono::seconds(10));
  EXPECT_EQ(output.status.exit_code, to_int(ExitCode::kUsage));
}

}  // namespace
}  // namespace ditar
