#include "markdown.h"

#include <gtest/gtest.h>

namespace ditar::knowledge {
namespace {

TEST(MarkdownTest, CutsAtHeadingsAndKeepsLines) {
  const auto passages = split_page(
      "# Title\n\nlead\n\n## One\n*Overrides:* fp8, TMA\nbody\n### Deep\nmore\n## Sources\n- S1: "
      "x\n");
  ASSERT_EQ(passages.size(), 3U);
  EXPECT_EQ(passages[0].heading, "Title");
  EXPECT_EQ(passages[0].line, 1);
  EXPECT_EQ(passages[1].heading, "One");
  EXPECT_EQ(passages[1].line, 5);
  EXPECT_EQ(passages[1].overrides, "fp8, TMA");
  EXPECT_EQ(passages[1].text, "body\n");
  EXPECT_EQ(passages[2].heading, "One: Deep");
  EXPECT_EQ(passages[2].title, "Title");
}

TEST(MarkdownTest, KnowsTheLinesThatAPageIsFoundBy) {
  EXPECT_TRUE(is_asked_line("Asked as: how to fuse"));
  EXPECT_TRUE(is_asked_line("Preguntado como: fusionar"));
  EXPECT_TRUE(is_symptom_line("Symptoms: it hangs"));
  EXPECT_FALSE(is_symptom_line("Its symptoms: none"));
  EXPECT_FALSE(is_asked_line("Symptoms: it hangs"));
}

TEST(MarkdownTest, IgnoresHeadingsInsideFences) {
  const auto passages = split_page("# T\n```\n# not a heading\n```\nend\n");
  ASSERT_EQ(passages.size(), 1U);
  EXPECT_NE(passages[0].text.find("not a heading"), std::string::npos);
}

TEST(MarkdownTest, TakesPagesWithoutHeadingOrText) {
  EXPECT_EQ(split_page("just text").size(), 1U);
  EXPECT_TRUE(split_page("").empty());
  EXPECT_TRUE(split_page("# only a title\n").empty());
}

}  // namespace
}  // namespace ditar::knowledge
