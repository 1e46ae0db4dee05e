#include "checkpoint.h"
#include "denoiser.h"
#include "ditar/config/error.h"
#include "ditar/config/philox.h"
#include "ditar/topology/plan.h"
#include "knobs.h"
#include "model_weights.h"
#include "rank_threads.h"
#include "split_cases.h"
#include "split_plan.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <map>

namespace ditar {
namespace {

/// The model of a size, written once for all tests.
std::filesystem::path model_of(std::int64_t height, std::int64_t width) {
  static const TempFolder folder;
  static std::map<std::pair<std::int64_t, std::int64_t>, std::filesystem::path> written;
  auto& path = written[{height, width}];
  if (path.empty()) {
    path = folder.path() / (std::to_string(height) + "x" + std::to_string(width) + ".safetensors");
    write_split_model(path, {.height = height, .width = width});
  }
  return path;
}

std::vector<float> together(const SplitJob& job, int ranks) {
  const auto model = model_of(job.height, job.width);
  std::vector<float> images;
  rethrow_first(run_ranks(ranks, [&](Communicator& communicator) {
    auto out = run_split_job(model, job, &communicator);
    if (communicator.rank() == 0) images = std::move(out);
  }));
  return images;
}

std::vector<float> alone(const SplitJob& job) {
  return run_split_job(model_of(job.height, job.width), job, nullptr);
}

struct SplitCase {
  const char* plan;
  int ranks;
};
void PrintTo(const SplitCase& split, std::ostream* out) { *out << split.plan; }

std::string case_name(const testing::TestParamInfo<SplitCase>& test) {
  std::string name = test.param.plan;
  for (char& c : name) {
    if (c == '=' || c == ',') c = '_';
  }
  return name;
}

/// Odd token count and batch, a rectangle, no guidance, and noise drawn by the sampler.
std::vector<SplitJob> jobs_for(const char* plan) {
  const bool branches = std::string(plan).find("cfg") != std::string::npos;
  std::vector<SplitJob> jobs = {
      {.plan = plan},
      {.plan = plan, .images = 4, .height = 5, .width = 9, .sampler = SamplerKind::kDdpm}};
  if (!branches) jobs.push_back({.plan = plan, .height = 5, .width = 9, .guidance = 1.0});
  return jobs;
}

class ExactSplitTest : public testing::TestWithParam<SplitCase> {};
TEST_P(ExactSplitTest, GivesTheBitsOfOneRank) {
  for (SplitJob job : jobs_for(GetParam().plan)) {
    for (const Precision precision : {Precision::kF32, Precision::kF64}) {
      job.precision = precision;
      EXPECT_EQ(together(job, GetParam().ranks), alone(job)) << job.images << " images";
    }
  }
}
// Neither pipeline nor Ulysses changes the order of any sum on the CPU.
INSTANTIATE_TEST_SUITE_P(
    Threads, ExactSplitTest,
    testing::Values(SplitCase{"single", 1}, SplitCase{"data=2", 2}, SplitCase{"cfg=2", 2},
                    SplitCase{"data=3", 3}, SplitCase{"data=2,cfg=2", 4}, SplitCase{"ulysses=2", 2},
                    SplitCase{"ulysses=3", 3}, SplitCase{"ulysses=4", 4},
                    SplitCase{"pipeline=2", 2}, SplitCase{"pipeline=3", 3},
                    SplitCase{"pipeline=4", 4}, SplitCase{"cfg=2,ulysses=2", 4},
                    SplitCase{"cfg=2,pipeline=2", 4}, SplitCase{"ulysses=2,pipeline=2", 4},
                    SplitCase{"data=2,pipeline=2", 4}),
    case_name);

class CloseSplitTest : public testing::TestWithParam<SplitCase> {};
TEST_P(CloseSplitTest, StaysWithin1e5OfOneRank) {
  for (const SplitJob& job : jobs_for(GetParam().plan)) {
    EXPECT_LE(relative_error(together(job, GetParam().ranks), alone(job)), 1e-5)
        << job.images << " images";
  }
}
INSTANTIATE_TEST_SUITE_P(
    Threads, CloseSplitTest,
    testing::Values(SplitCase{"tensor=2", 2}, SplitCase{"tensor=3", 3}, SplitCase{"tensor=4", 4},
                    SplitCase{"ring=2", 2}, SplitCase{"ring=3", 3}, SplitCase{"ring=4", 4},
                    SplitCase{"cfg=2,tensor=2", 4}, SplitCase{"cfg=2,ring=2", 4},
                    SplitCase{"data=2,tensor=2", 4}, SplitCase{"data=2,ring=2", 4},
                    SplitCase{"tensor=2,ring=2", 4}, SplitCase{"tensor=2,ulysses=2", 4},
                    SplitCase{"tensor=2,pipeline=2", 4}, SplitCase{"ring=2,pipeline=2", 4}),
    case_name);

// The bound above is of rounding: in FP64 the same splits come far closer.
TEST(SplitPrecisionTest, TensorAndRingAreRoundingOnly) {
  for (const char* plan : {"tensor=2", "ring=2"}) {
    const SplitJob job{.plan = plan, .height = 5, .width = 9, .precision = Precision::kF64};
    EXPECT_LE(relative_error(together(job, 2), alone(job)), 1e-7) << plan;  // images are FP32
  }
}

/// A job of a pipeline whose patches share keys and values of the step before.
class StalePatchTest : public testing::Test {
 protected:
  SplitJob job(int patches, int warmup) {
    const auto path = folder_.path() / (std::to_string(patches) + "-" + std::to_string(warmup));
    std::ofstream(path) << "{\"stale_patches\":" << patches << ",\"stale_warmup_steps\":" << warmup
                        << "}";
    return {.plan = "pipeline=2", .images = 2, .knobs_path = path.string()};
  }
  const TempFolder folder_;
};

TEST_F(StalePatchTest, IsExactWhileItWarmsUpAndWhereNoPipelineIs) {
  EXPECT_EQ(together(job(4, 3), 2), alone(job(4, 3)));
  SplitJob data = job(4, 1);
  data.plan = "data=2";
  EXPECT_EQ(together(data, 2), alone(data));
}

// The request has 3 steps, 400 timesteps apart: far coarser than any in use.
TEST_F(StalePatchTest, IsAnApproximationWhoseErrorIsSmallAndShrinksWithExactSteps) {
  const auto exact = alone(job(1, 1));
  double former = 1e9;
  for (const int warmup : {1, 2, 3}) {
    const double error = relative_error(together(job(4, warmup), 2), exact);
    std::cout << "stale_patches 4, " << warmup << " of 3 steps exact: relative L2 " << error
              << "\n";
    if (warmup < 3) {
      EXPECT_GT(error, 0.0) << "nothing is stale";
    }
    EXPECT_LT(error, former);
    former = error;
  }
  EXPECT_EQ(former, 0.0);
  const double rough = relative_error(together(job(4, 1), 2), exact);
  EXPECT_LT(rough, 0.2);
  EXPECT_EQ(together(job(4, 1), 2), together(job(4, 1), 2));
}

TEST_F(StalePatchTest, WorksWithOtherSplitsOfOneTokenSequenceAndRefusesASplitOne) {
  const auto two = together(job(4, 1), 2);
  SplitJob product = job(4, 1);
  product.plan = "pipeline=2,data=2";
  EXPECT_EQ(together(product, 4), two);
  product.plan = "pipeline=2,cfg=2";
  EXPECT_EQ(together(product, 4), two);
  product.plan = "pipeline=2,tensor=2";
  EXPECT_LE(relative_error(together(product, 4), two), 1e-5);
  product.plan = "pipeline=2,ring=2";
  EXPECT_THROW(together(product, 4), InvalidArgument);
}

// Where a step repeats the one before, what is kept is what is fresh: nothing may change.
TEST_F(StalePatchTest, StaleKeysAreTheStepBeforesAtTheirPlaces) {
  const Checkpoint checkpoint = Checkpoint::open(model_of(17, 17));
  Knobs knobs;
  knobs.stale_patches = 5;
  std::vector<std::vector<float>> outputs;
  rethrow_first(run_ranks(3, [&](Communicator& communicator) {
    const RankGroups groups(parse_plan("pipeline=3"), &communicator, Device{});
    const ModelWeights weights =
        load_weights(checkpoint, knobs, DType::kF32, StreamView{}, false,
                     weight_shard(groups.mesh(), checkpoint.config().depth));
    Denoiser denoiser(weights, Parity::kOfficial, knobs, StreamView{}, &groups);
    denoiser.prepare(2, {0, 1, 3, 3}, {500, 500, 500});
    Tensor x({2, 2, 17, 17}, DType::kF32, Device{});
    philox_normal(5, 0, 0, std::span(x.as<float>(), static_cast<std::size_t>(x.shape().count())));
    PhaseClock clock;
    for (std::size_t k = 0; k < 3; ++k) {
      const ConstTensorView out = denoiser.run(x, k, clock);
      if (communicator.rank() == 0)
        outputs.emplace_back(out.as<float>(), out.as<float>() + out.count());
    }
  }));
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[1], outputs[0]);
  EXPECT_EQ(outputs[2], outputs[0]);
}

TEST(SplitRefusalTest, NamesTheNumbersBeforeLoading) {
  const auto refusal = [](SplitJob job, int ranks) {
    try {
      together(job, ranks);
    } catch (const InvalidArgument& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({.plan = "tensor=2"}, 3), "plan tensor=2 needs 2 ranks, there are 3");
  EXPECT_EQ(refusal({.plan = "tensor=5"}, 5),
            "12 heads cannot be split over tensor=5; choose a degree that divides them");
  EXPECT_EQ(refusal({.plan = "ulysses=5"}, 5),
            "12 heads cannot be split over ulysses=5; choose a degree that divides them");
  EXPECT_EQ(refusal({.plan = "pipeline=6"}, 6),
            "pipeline=6 leaves ranks idle: there are only 5 layers");
  EXPECT_EQ(refusal({.plan = "data=2", .images = 1}, 2),
            "data=2 leaves ranks idle: there are only 1 images in a request");
  EXPECT_NE(refusal({.plan = "cfg=2", .guidance = 1.0}, 2).find("one branch only"),
            std::string::npos);
  EXPECT_NE(refusal({.plan = "sequence=2"}, 2).find("say ulysses=N or ring=N"), std::string::npos);
}

std::string disagreement(const std::function<void(SplitJob&)>& of_rank_1) {
  const auto model = model_of(5, 9);
  const auto faults = run_ranks(2, [&](Communicator& communicator) {
    SplitJob job{.plan = "tensor=2", .height = 5, .width = 9};
    if (communicator.rank() == 1) of_rank_1(job);
    run_split_job(model, job, &communicator);
  });
  std::string message = "agreed";
  for (const auto& fault : faults) {
    EXPECT_TRUE(fault);
    try {
      if (fault) std::rethrow_exception(fault);
    } catch (const InvalidArgument& error) {
      message = error.message();
    }
  }
  return message;
}

TEST(SplitAgreementTest, NamesRankAndFieldBeforeAnythingIsExchanged) {
  EXPECT_THAT(disagreement([](SplitJob& job) { job.plan = "ring=2"; }),
              testing::HasSubstr("rank 1 has plan \"ring=2\", rank 0 has \"tensor=2\""));
  EXPECT_THAT(disagreement([](SplitJob& job) { job.precision = Precision::kF64; }),
              testing::HasSubstr("rank 1 has precision \"fp64\", rank 0 has \"fp32\""));
  EXPECT_THAT(disagreement([](SplitJob& job) { job.images = 2; }),
              testing::HasSubstr("rank 1 has images, channels, height, width \"2 2 5 9\""));
  EXPECT_THAT(disagreement([](SplitJob& job) { job.guidance = 4.0; }),
              testing::HasSubstr("rank 1 has guidance"));
}

}  // namespace
}  // namespace ditar
