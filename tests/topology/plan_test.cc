#include "ditar/topology/plan.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_plan(text);
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return "";
}

TEST(PlanTest, RoundTripsEverySpelling) {
  for (const char* text : {"single", "cfg=2", "data=2,tensor=2", "ring=2", "ulysses=4",
                           "data=3,cfg=2,tensor=2,ring=2,pipeline=4"}) {
    EXPECT_EQ(format_plan(parse_plan(text)), text);
  }
  EXPECT_EQ(parse_plan("data=3,cfg=2,tensor=2,ring=2,pipeline=4").ranks(), 96);
}

TEST(PlanTest, AcceptsAnyOrderAndDegreesOfOne) {
  EXPECT_EQ(format_plan(parse_plan("tensor=2,data=2")), "data=2,tensor=2");
  EXPECT_EQ(parse_plan("data=1,cfg=1"), Plan{});
  EXPECT_EQ(parse_plan("ring=1"), Plan{});
}

TEST(PlanTest, NamesTheFactorAtFault) {
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("tensors=2").find("\"tensors\" is not a factor"), std::string::npos);
  EXPECT_NE(refusal("cfg").find("cfg needs a degree"), std::string::npos);
  for (const char* text : {"cfg=0", "cfg=-1", "cfg=two", "cfg=", "cfg=2x", "cfg=99999999999"}) {
    EXPECT_NE(refusal(text).find("cfg="), std::string::npos) << text;
  }
  EXPECT_NE(refusal("cfg=2,cfg=2").find("given twice"), std::string::npos);
  EXPECT_NE(refusal("ring=2,ulysses=2").find("one sequence split"), std::string::npos);
  EXPECT_NE(refusal("sequence=2").find("ulysses=N or ring=N"), std::string::npos);
  EXPECT_NE(refusal("single,cfg=2").find("\"single\" alone"), std::string::npos);
  EXPECT_NE(refusal("cfg=2,"), "");
  EXPECT_NE(refusal(" cfg=2"), "");
}

}  // namespace
}  // namespace ditar
