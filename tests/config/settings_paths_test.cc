#include "ditar/config/path_rules.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(PathRulesTest, FolderPatternTakesAllBelowAndNothingBeside) {
  EXPECT_TRUE(path_matches("kernels/", "kernels/src/a.cc"));
  EXPECT_FALSE(path_matches("kernels/", "kernels"));
  EXPECT_FALSE(path_matches("kernels/", "kernels2/a.cc"));
  EXPECT_FALSE(path_matches("kernels/", "x/kernels/a.cc"));
}

TEST(PathRulesTest, FilePatternIsExact) {
  EXPECT_TRUE(path_matches("config/engine.json", "config/engine.json"));
  EXPECT_FALSE(path_matches("config/engine.json", "config/engine.json5"));
  EXPECT_FALSE(path_matches("config/engine.json", "config/Engine.json"));
}

TEST(PathRulesTest, GlobStaysInOneComponent) {
  EXPECT_TRUE(path_matches("topology/planner*", "topology/planner.cc"));
  EXPECT_TRUE(path_matches("topology/planner*", "topology/planner/src/plan.cc"));
  EXPECT_FALSE(path_matches("topology/planner*", "topology/src/planner.cc"));
  EXPECT_FALSE(path_matches("topology/planner*", "topology/plan.cc"));
  EXPECT_TRUE(path_matches("a/*/c?.h", "a/b/cd.h"));
  EXPECT_FALSE(path_matches("a/*/c?.h", "a/b/d/cd.h"));
}

TEST(PathRulesTest, OverlapIsFoundBothWays) {
  EXPECT_TRUE(patterns_overlap("coordinator/", "coordinator/src/"));
  EXPECT_TRUE(patterns_overlap("coordinator/src/", "coordinator/"));
  EXPECT_TRUE(patterns_overlap("topology/planner*", "topology/*.cc"));
  EXPECT_FALSE(patterns_overlap("topology/planner*", "topology/src/"));
  EXPECT_FALSE(patterns_overlap("config/engine.json", "config/autoresearch.json"));
}

TEST(PathRulesTest, FixedWinsAndUnnamedIsFixed) {
  const PathRules rules({"worker/dit/fixed.h"}, {"worker/dit/"});
  EXPECT_TRUE(rules.is_mutable("worker/dit/a.cc"));
  EXPECT_FALSE(rules.is_mutable("worker/dit/fixed.h"));
  EXPECT_FALSE(rules.is_mutable("README.md"));
  EXPECT_EQ(rules.outside({"worker/dit/a.cc", "README.md"}), std::vector<std::string>{"README.md"});
  EXPECT_EQ(rules.unmatched({"worker/dit/a.cc"}), std::vector<std::string>{"worker/dit/fixed.h"});
}

TEST(PathRulesTest, BadPatternsAreRefused) {
  for (const char* bad : {"", "/", "/abs", ".", "..", "a/../b", "a//b", "a\\b", "a/**", "a//"}) {
    EXPECT_NE(pattern_fault(bad), "") << bad;
  }
  for (const char* good : {"a", "a/", "a/b*", ".github/", "..a"}) {
    EXPECT_EQ(pattern_fault(good), "") << good;
  }
}

}  // namespace
}  // namespace ditar
