#include "ditar/config/error.h"
#include "placement.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ditar {
namespace {

TEST(PlacementTest, SurvivesItsText) {
  const std::string text = "cpu/1/;GPU-12ab/4/0,2,3";
  const auto placements = parse_placements(text);
  ASSERT_EQ(placements.size(), 2U);
  EXPECT_EQ(placements[1].device, "GPU-12ab");
  EXPECT_EQ(placements[1].threads, 4);
  EXPECT_EQ(placements[1].cpus, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(format_placements(placements), text);
  EXPECT_TRUE(parse_placements("").empty());
}

TEST(PlacementTest, NamesTheEntryThatIsWrong) {
  for (const char* bad : {"cpu", "cpu/1", "cpu/0/", "cpu/x/", "/1/", "cpu/1/a", "cpu/1/0;",
                          "cpu/1/0/1", "cpu/-1/", "cpu/1/0,"}) {
    EXPECT_THROW((void)parse_placements(bad), InvalidArgument) << bad;
  }
}

TEST(PlacementTest, RefusesCpusThatDoNotExist) {
  EXPECT_THROW((void)apply_placement({"cpu", 1, {1'000'000}}), InvalidArgument);
}

class LauncherFactsTest : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                             "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(LauncherFactsTest, ReadsMpirunAndSrunWithPmix) {
  EXPECT_EQ(launcher_facts().size, -1);
  ::setenv("SLURM_NTASKS", "4", 1);  // an allocation alone starts nothing
  EXPECT_EQ(launcher_facts().size, -1);
  ::setenv("PMIX_RANK", "3", 1);
  EXPECT_EQ(launcher_facts().rank, 3);
  EXPECT_EQ(launcher_facts().size, 4);
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);  // a step may be smaller than its allocation
  EXPECT_EQ(launcher_facts().size, 2);
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(launcher_facts().rank, 1);
  EXPECT_EQ(launcher_facts().size, 8);
}

TEST_F(LauncherFactsTest, SaysWhatAnEnvironmentLacks) {
  const auto message = [] {
    try {
      (void)launcher_facts();
    } catch (const Unavailable& error) {
      return error.message();
    }
    return std::string();
  };
  ::setenv("SLURM_PROCID", "0", 1);
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_NE(message().find("srun --mpi=pmix"), std::string::npos) << message();
  ::setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_EQ(message(), "");
  clear();
  ::setenv("PMIX_RANK", "0", 1);
  EXPECT_NE(message().find("SLURM_STEP_NUM_TASKS"), std::string::npos) << message();
}

}  // namespace
}  // namespace ditar
