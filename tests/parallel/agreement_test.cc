#include "ditar/parallel/agreement.h"

#include "ditar/config/error.h"
#include "rank_threads.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

std::string message_of(const std::exception_ptr& fault) {
  try {
    if (fault) std::rethrow_exception(fault);
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return "agreed";
}

TEST(AgreementTest, PassesEqualRanks) {
  rethrow_first(run_ranks(3, [](Communicator& world) {
    require_agreement(world, {{"plan", "data=3"}, {"dtype", "f32"}});
  }));
}

TEST(AgreementTest, NamesRankFieldAndBothValuesOnEveryRank) {
  const auto faults = run_ranks(3, [](Communicator& world) {
    require_agreement(world, {{"version", "1"}, {"dtype", world.rank() == 2 ? "f64" : "f32"}});
  });
  for (const auto& fault : faults) {
    EXPECT_EQ(message_of(fault),
              "rank 2 has dtype \"f64\", rank 0 has \"f32\"; start all ranks with the same program "
              "and options");
  }
}

TEST(AgreementTest, TellsValuesApartThatJoinToOneText) {
  const auto faults = run_ranks(2, [](Communicator& world) {
    const bool first = world.rank() == 0;
    require_agreement(world, {{"a", first ? "1" : "11"}, {"b", first ? "12" : "2"}});
  });
  EXPECT_NE(message_of(faults[0]).find("rank 1 has a \"11\", rank 0 has \"1\""), std::string::npos);
}

}  // namespace
}  // namespace ditar
