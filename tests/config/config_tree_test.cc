#include "ditar/config/config_tree.h"

#include "ditar/config/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditar {
namespace {

using ::testing::HasSubstr;

std::string fault(const std::string& text) {
  try {
    ConfigTree::parse(text, "f.json").require_known({"threads", "attention"});
  } catch (const ConfigError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(ConfigTreeTest, ReadsEveryKind) {
  const ConfigTree tree = ConfigTree::parse(
      R"({"b":true,"i":-3,"r":2.5,"t":"x","n":null,"l":[1,2],"o":{"k":7}})", "f.json");
  EXPECT_TRUE(tree.find("b")->as_bool());
  EXPECT_EQ(tree.find("i")->as_integer(), -3);
  EXPECT_EQ(tree.find("i")->as_real(), -3.0);
  EXPECT_EQ(tree.find("r")->as_real(), 2.5);
  EXPECT_EQ(tree.find("t")->as_text(), "x");
  EXPECT_EQ(tree.find("n")->kind(), ConfigTree::Kind::kNull);
  EXPECT_EQ(tree.find("l")->items().at(1).as_integer(), 2);
  EXPECT_EQ(tree.find("o")->find("k")->as_integer(), 7);
  EXPECT_EQ(tree.find("absent"), nullptr);
}

TEST(ConfigTreeTest, NamesPlaceAndMend) {
  EXPECT_EQ(fault(R"({"threads":2})"), "accepted");
  EXPECT_THAT(fault(R"({"thread":2})"), HasSubstr("nearest valid key is \"threads\""));
  EXPECT_THAT(fault("{\"threads\":2,\n\"threads\":3}"), HasSubstr("f.json line 2"));
  EXPECT_THAT(fault("{\"threads\":"), HasSubstr("not valid JSON"));
  EXPECT_THAT(fault("[1]"), HasSubstr("one JSON object"));
  EXPECT_THAT(fault(R"({"threads":18446744073709551615})"), HasSubstr("larger than"));
  const ConfigTree tree = ConfigTree::parse(R"({"o":{"k":"x"}})", "f.json");
  try {
    tree.find("o")->find("k")->as_integer();
    FAIL() << "text was taken for a number";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.message(), HasSubstr("f.json: key \"o.k\" must be a whole number"));
  }
  EXPECT_THROW(ConfigTree::read_file("/nonexistent.json"), IoError);
}

}  // namespace
}  // namespace ditar
