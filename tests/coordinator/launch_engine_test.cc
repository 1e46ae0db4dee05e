// The real dit-worker under real mpirun: splits over MPI ranks give the bits of one rank.
#include "child_process.h"
#include "ditar/config/philox.h"
#include "launch_fixture.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ditar {
namespace {

class LaunchEngineTest : public LaunchFixture {
 protected:
  static RunRequest digits(std::int64_t images) {
    RunRequest request;
    request.nonce = 5;
    request.images = images;
    request.channels = 1;
    request.height = request.width = 28;
    request.latents.resize(static_cast<std::size_t>(images * 784));
    for (std::int64_t i = 0; i < images; ++i) {
      request.labels.push_back(static_cast<std::int32_t>(i % 10));
      philox_normal(7, static_cast<std::uint64_t>(i), 0,
                    std::span(request.latents).subspan(static_cast<std::size_t>(i) * 784, 784));
    }
    request.schedule.timesteps = {900, 600, 300, 0};
    request.schedule.guidance = 1.5;
    return request;
  }

  std::vector<float> latents_of(int ranks, const std::string& split, const std::string& precision) {
    auto group = plan(ranks);
    group.worker = std::string(DITAR_BINARY_DIR) + "/bin/dit-worker";
    group.deadlines.progress = std::chrono::seconds(20);
    auto session = WorkerSession::launch(group);
    LoadRequest load;
    load.model_path = DITAR_SOURCE_DIR "/config/models/mnist-dit.safetensors";
    load.knobs_path = DITAR_SOURCE_DIR "/config/engine.json";
    load.plan = split;
    load.precision = precision;
    const auto loaded = session->load(load);
    EXPECT_EQ(loaded.model.plan, split.empty() ? "single" : split);
    const auto result = session->run(digits(5));
    EXPECT_EQ(result.ranks.size(), static_cast<std::size_t>(ranks));
    session->stop();
    return result.latents;
  }
};

TEST_F(LaunchEngineTest, DataSplitOverMpiGivesTheBitsOfOneRank) {
  const auto one = latents_of(1, "", "fp32");
  for (const float value : one) ASSERT_TRUE(std::isfinite(value));
  EXPECT_EQ(latents_of(2, "data=2", "fp32"), one);
}

TEST_F(LaunchEngineTest, CfgSplitOverMpiGivesTheBitsOfOneRank) {
  EXPECT_EQ(latents_of(2, "cfg=2", "fp32"), latents_of(1, "", "fp32"));
}

TEST_F(LaunchEngineTest, PlanThatDoesNotFitIsRefusedWithTheNumbers) {
  const auto failure = ditar::failure_of([&] { (void)latents_of(2, "cfg=3", "fp32"); });
  EXPECT_EQ(failure.phase(), WorkerPhase::kLoad);
  EXPECT_EQ(failure.kind(), WorkerFailureKind::kError) << failure.message();
}

TEST_F(LaunchEngineTest, BenchPrintsATableAloneAndUnderMpirun) {
  const std::string worker = std::string(DITAR_BINARY_DIR) + "/bin/dit-worker";
  const std::string model = DITAR_SOURCE_DIR "/config/models/mnist-dit.safetensors";
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "OMP_WAIT_POLICY=passive",
                                                "OMPI_ALLOW_RUN_AS_ROOT=1",
                                                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  const std::vector<std::string> bench = {worker, "bench",      "--model", model,      "--steps",
                                          "2",    "--requests", "2",       "--warmup", "1"};
  const auto alone = run_command(bench, environment, std::chrono::seconds(30));
  EXPECT_EQ(alone.status.exit_code, 0) << alone.text;
  EXPECT_NE(alone.text.find("images/s"), std::string::npos) << alone.text;
  std::vector<std::string> both = {"/usr/bin/env", "mpirun", "-np", "2", "--oversubscribe"};
  both.insert(both.end(), bench.begin(), bench.end());
  both.insert(both.end(), {"--plan", "cfg=2", "--json"});
  const auto pair = run_command(both, environment, std::chrono::seconds(60));
  EXPECT_EQ(pair.status.exit_code, 0) << pair.text;
  EXPECT_NE(pair.text.find("\"plan\": \"cfg=2\""), std::string::npos) << pair.text;
  EXPECT_NE(pair.text.find("\"rank\": 1"), std::string::npos) << pair.text;
  const auto missing = run_command({worker, "bench", "--model", "/nonexistent.safetensors"},
                                   environment, std::chrono::seconds(30));
  EXPECT_NE(missing.status.exit_code, 0);
  EXPECT_NE(missing.text.find("/nonexistent.safetensors"), std::string::npos) << missing.text;
}

TEST_F(LaunchEngineTest, PlanRanksSplitsOfAFileWithoutAnyDevice) {
  const std::string worker = std::string(DITAR_BINARY_DIR) + "/bin/dit-worker";
  const auto output = run_command({worker, "plan", "--ranks", "2", "--json", "--topology",
                                   DITAR_SOURCE_DIR "/topology/machines/two-a5500-nvlink.json"},
                                  {}, std::chrono::seconds(30));
  EXPECT_EQ(output.status.exit_code, 0) << output.text;
  EXPECT_NE(output.text.find("cfg=2"), std::string::npos) << output.text;
}

}  // namespace
}  // namespace ditar
