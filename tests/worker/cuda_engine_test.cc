// The engine on a GPU against the FP64 engine of the CPU: relative L2 of whole requests per
// precision, guidance and sampler, equal bits on repeats, and what does not fit is refused.
#include "dit_engine_requests.h"
#include "ditar/config/error.h"
#include "ditar/kernels/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace ditar {
namespace {

double relative_l2(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

struct Limit {
  Precision precision;
  double relative_l2;
};

class CudaEngineTest : public ::testing::TestWithParam<Limit> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device is visible to this process";
  }
  static std::unique_ptr<Engine> on_gpu() {
    EngineOptions options;
    options.device = "cuda:0";
    options.precision = GetParam().precision;
    return load(options);
  }
};

TEST_P(CudaEngineTest, FollowsTheOracle) {
  EngineOptions options;
  options.precision = Precision::kF64;
  const auto oracle = load(options);
  const auto engine = on_gpu();
  for (const SamplerKind sampler :
       {SamplerKind::kDdim, SamplerKind::kDdpm, SamplerKind::kDpmSolverPlusPlus2M}) {
    for (const double guidance : {1.0, 1.5}) {
      for (const std::int64_t images : {1, 3, 5}) {
        const Request request{.images = images, .sampler = sampler, .guidance = guidance};
        const double error = relative_l2(generate(*engine, request), generate(*oracle, request));
        EXPECT_LE(error, GetParam().relative_l2)
            << to_string(sampler) << ", guidance " << guidance << ", " << images << " images";
      }
    }
  }
}

TEST_P(CudaEngineTest, RepeatsItsBitsAndFeelsSeedAndGuidance) {
  const auto engine = on_gpu();
  const Request request{.sampler = SamplerKind::kDdpm};
  const std::vector<float> first = generate(*engine, request);
  for (int repeat = 0; repeat < 100; ++repeat) ASSERT_EQ(generate(*engine, request), first);
  Request other = request;
  other.seed = 6;
  EXPECT_NE(generate(*engine, other), first);
  other = request;
  other.guidance = 2.0;
  EXPECT_NE(generate(*engine, other), first);
  other = request;
  other.first = 1;  // other labels and latents
  EXPECT_NE(generate(*engine, other), first);
  EXPECT_EQ(generate(*engine, request), first);
}

// Recorded steps against steps enqueued op by op, which compute each step's modulations in a GEMM
// of another size: over requests that share recordings and requests that do not.
TEST_P(CudaEngineTest, GraphsFollowPlainSteps) {
  const std::string knobs = ::testing::TempDir() + "/plain_steps.json";
  std::ofstream(knobs) << "{\"graph_capture\": false, \"modulation_table_mib\": 0}";
  EngineOptions options;
  options.device = "cuda:0";
  options.precision = GetParam().precision;
  const auto recorded = load(options);
  options.knobs_path = knobs;
  const auto plain = load(options);
  for (const SamplerKind sampler :
       {SamplerKind::kDdim, SamplerKind::kDdpm, SamplerKind::kDpmSolverPlusPlus2M}) {
    for (const std::int64_t first : {0, 1, 2}) {
      for (const std::int64_t images : {1, 4}) {
        const Request request{.images = images,
                              .sampler = sampler,
                              .seed = static_cast<std::uint64_t>(first),
                              .first = first};
        EXPECT_LE(relative_l2(generate(*recorded, request), generate(*plain, request)),
                  GetParam().relative_l2);
        EXPECT_EQ(generate(*recorded, request), generate(*recorded, request));
      }
    }
  }
}

std::string name(const ::testing::TestParamInfo<Limit>& info) {
  return std::string(to_string(info.param.precision));
}

// The limits are those of a whole forward of DiT-XL/2; TF32 and the 16-bit formats round every
// product.
INSTANTIATE_TEST_SUITE_P(Cuda, CudaEngineTest,
                         ::testing::Values(Limit{Precision::kF32, 2e-5},
                                           Limit{Precision::kTf32, 2e-3},
                                           Limit{Precision::kF16, 5e-3},
                                           Limit{Precision::kBF16, 3e-2}),
                         name);

}  // namespace
}  // namespace ditar
