#include "launch_fixture.h"

#include "child_process.h"
#include "test_paths.h"

#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace ditar {

namespace {

std::string mark() { return "DITAR_MARK=" + std::to_string(::getpid()); }

}  // namespace

std::string own_processes() {
  std::string text;
  for (const pid_t pid : find_tagged(mark(), -1)) text += " " + std::to_string(pid);
  return text;
}

void LaunchFixture::SetUp() {
  char name[] = "/tmp/ditar-test-XXXXXX";
  folder_ = ::mkdtemp(name);
}

void LaunchFixture::TearDown() {
  // Nothing waits here: a session that is over has reaped its group already.
  EXPECT_EQ(own_processes(), "") << "processes of a worker group are left";
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

LaunchPlan LaunchFixture::plan(int ranks) const {
  LaunchPlan plan;
  plan.worker = std::string(DITAR_BINARY_DIR) + "/tests/fake-worker";
  plan.placements.assign(static_cast<std::size_t>(ranks), RankPlacement{});
  plan.run_directory = folder_;
  static const Isolation isolate = find_isolation();  // as shipped: every launch is fenced
  plan.isolate = isolate;
  plan.readable = {std::string(DITAR_BINARY_DIR) + "/bin",
                   std::string(DITAR_SOURCE_DIR) + "/config",
                   std::string(DITAR_SOURCE_DIR) + "/tests"};
  plan.environment["DITAR_MARK"] = std::to_string(::getpid());
  plan.deadlines.hello = std::chrono::seconds(20);
  plan.deadlines.load = std::chrono::seconds(10);
  plan.deadlines.progress = std::chrono::milliseconds(1500);
  plan.deadlines.run = std::chrono::seconds(20);
  plan.deadlines.stop = std::chrono::milliseconds(1000);
  return plan;
}

LoadRequest LaunchFixture::load_request(const std::string& script) {
  LoadRequest request;
  request.model_path = "fake:" + script;
  return request;
}

RunRequest LaunchFixture::request(int steps) {
  static std::uint64_t nonce = 0;
  RunRequest request;
  request.nonce = ++nonce;
  request.images = 2;
  request.channels = 1;
  request.height = 4;
  request.width = 4;
  request.labels = {1, 2};
  request.latents.resize(32);
  std::iota(request.latents.begin(), request.latents.end(), 0.25F);
  for (int k = 0; k < steps; ++k) request.schedule.timesteps.push_back(900 - 100 * (k % 9));
  return request;
}

WorkerFailure failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const WorkerFailure& failure) {
    return failure;
  }
  ADD_FAILURE() << "nothing failed";
  return WorkerFailure("nothing failed", {});
}

WorkerFailure LaunchFixture::failure_of(const LaunchPlan& plan, const std::string& script,
                                        int steps) {
  return ditar::failure_of([&] {
    auto session = WorkerSession::launch(plan);
    (void)session->load(load_request(script));
    (void)session->run(request(steps));
  });
}

}  // namespace ditar
