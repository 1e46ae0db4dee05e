#include "dit_engine_requests.h"
#include "dit_thread_group.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

struct SplitCase {
  const char* plan;
  int ranks;
};
void PrintTo(const SplitCase& split, std::ostream* out) { *out << split.plan; }

class DitSplitTest : public ::testing::TestWithParam<SplitCase> {};

TEST_P(DitSplitTest, GivesTheBitsOfOneRank) {
  const SplitCase split = GetParam();
  for (const SamplerKind sampler : {SamplerKind::kDdim, SamplerKind::kDdpm}) {
    for (const Precision precision : {Precision::kF32, Precision::kF64}) {
      const Request request{.images = 5, .sampler = sampler};
      const std::vector<float> one = single(request, precision);
      std::vector<float> together;
      run_ranks(split.ranks, [&](Communicator& communicator) {
        EngineOptions options;
        options.plan = split.plan;
        options.precision = precision;
        const auto engine = load(options, &communicator);
        EXPECT_EQ(engine->plan(), split.plan);
        const std::vector<float> out = generate(*engine, request);
        if (communicator.rank() == 0) together = out;
      });
      EXPECT_EQ(together, one) << split.plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, DitSplitTest,
                         ::testing::Values(SplitCase{"data=2", 2}, SplitCase{"cfg=2", 2},
                                           SplitCase{"data=3", 3}, SplitCase{"data=2,cfg=2", 4}),
                         [](const auto& test) {
                           return "plan" + std::to_string(test.index) + "_np" +
                                  std::to_string(test.param.ranks);
                         });

}  // namespace
}  // namespace ditar
