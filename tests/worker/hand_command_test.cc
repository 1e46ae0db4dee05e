// dit-worker's tools by hand on several ranks: bench, probe and plan --measure under mpirun, under
// the environment that srun gives, and as threads. The model is the small trained one.
#include "program_run.h"
#include "temp_folder.h"
#include "test_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace ditar {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kModel = " --model " DITAR_SOURCE_DIR "/config/models/mnist-dit.safetensors";

Answer on_ranks(int ranks, const std::string& arguments, const std::string& around = "") {
  return run_program("timeout 100 " DITAR_MPIRUN " --oversubscribe --bind-to none -np " +
                     std::to_string(ranks) + " " + around + " " DITAR_WORKER " " + arguments);
}

json bench(const std::string& arguments, const std::string& around = "") {
  const Answer answer = on_ranks(
      2, "bench --json --steps 3 --requests 2 --warmup 1" + kModel + " " + arguments, around);
  EXPECT_EQ(answer.code, 0) << answer.errors << answer.output;
  return json::parse(answer.output);
}

const json* exchange(const json& result, const std::string& op, std::int64_t bytes) {
  for (const json& row : result.at("exchanges")) {
    if (row.at("op") == op && row.at("size_bytes") == bytes) return &row;
  }
  return nullptr;
}

TEST(BenchByHandTest, HasARowPerSizeThatIsComparedAndCounted) {
  const json result = bench("--plan cfg=2 --images 1,3");
  EXPECT_EQ(result.at("plan"), "cfg=2");
  ASSERT_EQ(result.at("sizes").size(), 2U);
  for (const json& size : result.at("sizes")) {
    EXPECT_EQ(size.at("error"), 0.0);
    EXPECT_EQ(size.at("error_allowed"), 0.0);
    EXPECT_TRUE(size.at("right"));
    ASSERT_EQ(size.at("ranks").size(), 2U);
    for (const json& rank : size.at("ranks")) {
      EXPECT_GT(rank.at("min_ms"), 0.0);
      EXPECT_LE(rank.at("min_ms"), rank.at("mean_ms"));
      EXPECT_LE(rank.at("mean_ms"), rank.at("max_ms"));
    }
    // Of rank 1: in 3 steps its branch's output (noise and variance), and 8 bytes to agree on.
    const double images = size.at("images");
    EXPECT_EQ(size.at("ranks").at(1).at("sent_bytes"), 3 * images * 2 * 28 * 28 * 4 + 8);
  }
  const json* const row = exchange(result, "all_gather", 2 * 3 * 2 * 28 * 28 * 4);
  ASSERT_NE(row, nullptr) << result;
  EXPECT_EQ(row->at("calls"), 3);
  EXPECT_EQ(row->at("wrong"), 0);
  EXPECT_EQ(row->at("times_us").size(), 2U);
  EXPECT_NEAR(row->at("busbw_gb_per_s"), row->at("algbw_gb_per_s").get<double>() / 2, 1e-9);
}

TEST(BenchByHandTest, EveryPlanStaysWithinItsBound) {
  for (const char* plan : {"tensor=2", "ring=2", "ulysses=2", "pipeline=2"}) {
    const json size = bench("--images 2 --plan " + std::string(plan)).at("sizes").at(0);
    EXPECT_LE(size.at("error"), 1e-5) << plan;
    EXPECT_EQ(size.at("error_allowed"), 1e-5) << plan;
  }
}

TEST(BenchByHandTest, StartsUnderTheEnvironmentOfSrun) {
  // Open MPI finds its ranks through PMIx, as under srun --mpi=pmix; only Slurm's words are there.
  const std::string srun =
      "env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE SLURM_JOB_ID=7 SLURM_NTASKS=2 "
      "SLURM_STEP_NUM_TASKS=2";
  EXPECT_EQ(bench("--plan data=2 --images 2", srun).at("sizes").at(0).at("error"), 0.0);
  const Answer alone =
      run_program("env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 " DITAR_WORKER " bench" + kModel);
  EXPECT_EQ(alone.code, 69);
  EXPECT_THAT(alone.errors, HasSubstr("--mpi=pmix"));
}

TEST(BenchByHandTest, AnIllegalPlanEndsAllRanksWithTheNumbers) {
  const Answer answer = on_ranks(3, "bench --plan tensor=3 --no-check" + kModel);
  EXPECT_NE(answer.code, 0);
  EXPECT_THAT(answer.errors, HasSubstr("4 heads cannot be split over tensor=3"));
}

TEST(ProbeByHandTest, MeasuresRanksAndThePlannerReadsIt) {
  const TempFolder folder;
  const std::string file = (folder.path() / "links.json").string();
  const Answer probe = on_ranks(2, "probe --json --out " + file);
  ASSERT_EQ(probe.code, 0) << probe.errors;
  const json graph = json::parse(probe.output);
  EXPECT_EQ(graph.at("gpus").size(), 2U);
  EXPECT_EQ(graph.at("links").at(0).at("cost").at("origin"), "measured");
  EXPECT_EQ(graph.at("collectives").size(), 4U);
  const Answer plan = run_program(DITAR_WORKER
                                  " plan --json --precision fp32 --ranks 2 --model DiT-S/2 "
                                  "--topology " +
                                  file);
  ASSERT_EQ(plan.code, 0) << plan.errors;
  EXPECT_FALSE(json::parse(plan.output).at("ranked").empty());
}

void expect_measured(const Answer& answer, const std::string& file) {
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const json report = json::parse(answer.output);
  EXPECT_EQ(report.at("scales"), "measured");
  EXPECT_EQ(report.at("ranked").at(0).at("origin"), "measured");
  std::ifstream in(file);
  const json fit = json::parse(in);
  EXPECT_EQ(fit.at("points").size(), 2U);
  for (const json& point : fit.at("points")) EXPECT_GT(point.at("measured_seconds"), 0.0);
}

TEST(PlanMeasureTest, RunsTheFirstPlansAndKeepsTheFit) {
  const TempFolder folder;
  const std::string arguments = "plan --measure --json --top 2 --requests 1 --steps 2" + kModel;
  const std::string mpi = (folder.path() / "mpi.json").string();
  const std::string threads = (folder.path() / "threads.json").string();
  expect_measured(on_ranks(2, arguments + " --fit " + mpi), mpi);
  expect_measured(run_program(DITAR_WORKER " " + arguments + " --ranks 2 --fit " + threads),
                  threads);
  const Answer used =
      run_program(DITAR_WORKER " plan --json --precision fp32 --model DiT-S/2 --fit " + mpi);
  ASSERT_EQ(used.code, 0) << used.errors;
  EXPECT_EQ(json::parse(used.output).at("scales"), "measured");
  const Answer other = run_program(DITAR_WORKER " plan --model DiT-S/2 --fit " + mpi);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.errors, HasSubstr("is a fit of CPU in fp32, not of CPU in fp16"));
}

std::vector<json> rows_of(const TempFolder& folder) {
  std::ifstream in(folder.path() / "results.json");
  return json::parse(in).at("rows");
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TopologyExperimentsTest, RunDryOnCpuRanksAndLeaveTableAndPlot) {
  if (run_program("python3 -c pass").code != 0) GTEST_SKIP() << "there is no python3";
  const TempFolder folder;
  const std::string script =
      "python3 " DITAR_SOURCE_DIR
      "/scripts/topology/experiments.py --device cpu --build " DITAR_BINARY_DIR
      " --images 1 --steps 2 --requests 1 --limit 60 --out " +
      folder.path().string();
  const Answer answer = run_program(script + kModel + " --split data,cfg");
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const auto rows = rows_of(folder);
  ASSERT_EQ(rows.size(), 7U);  // one rank, and two splits over three kinds of link
  for (const json& row : rows) {
    const bool data = row.at("split") == "data=2";
    EXPECT_EQ(row.at("state"), data ? "refused" : "ok") << row;
    if (data) {
      EXPECT_THAT(row.at("why").get<std::string>(), HasSubstr("only 1 images in a request"));
    } else {
      EXPECT_GT(row.at("mean_ms"), 0.0);
    }
  }
  EXPECT_EQ(rows.at(6).at("links"), "shm off");
  EXPECT_EQ(rows.at(6).at("error"), "0.0e+00");
  EXPECT_EQ(text_of(folder.path() / "table.md"), answer.output);
  EXPECT_THAT(answer.output, HasSubstr("A dry check of the commands, no result."));
  EXPECT_THAT(text_of(folder.path() / "plot.svg"), HasSubstr("<title>cfg=2, p2p off: "));
  EXPECT_EQ(run_program(script + kModel + " --split cgf").code, 2);
  EXPECT_EQ(run_program(script + " --model /nowhere.safetensors --split cfg").code, 1);
  EXPECT_EQ(rows_of(folder).at(1).at("state"), "failed");
}

}  // namespace
}  // namespace ditar
