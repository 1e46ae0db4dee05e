#include "tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace ditar::knowledge {
namespace {

std::vector<std::string> wholes(std::string_view text) {
  std::vector<std::string> out;
  for (const Token& token : tokenize(text)) out.push_back(token.whole);
  return out;
}

using Words = std::vector<std::string>;

TEST(TokenizerTest, KeepsIdentifiersWholeAndInParts) {
  const auto camel = tokenize("cudaGraphLaunch");
  ASSERT_EQ(camel.size(), 1U);
  EXPECT_EQ(camel[0].whole, "cudagraphlaunch");
  EXPECT_EQ(camel[0].parts, (Words{"cuda", "graph", "launch"}));
  EXPECT_EQ(tokenize("online_softmax_kernel")[0].parts, (Words{"online", "softmax", "kernel"}));
  EXPECT_EQ(tokenize("CUBLAS_TF32_TENSOR_OP_MATH")[0].parts,
            (Words{"cublas", "tf32", "tensor", "op", "math"}));
  EXPECT_EQ(tokenize("sm_86")[0].whole, "sm_86");
  EXPECT_EQ(wholes("B200"), Words{"b200"});
}

TEST(TokenizerTest, LeavesShortNamesWhole) {
  EXPECT_TRUE(tokenize("DiT")[0].parts.empty());
  EXPECT_TRUE(tokenize("GPUs")[0].parts.empty());
  EXPECT_TRUE(tokenize("FLOPs")[0].parts.empty());
  EXPECT_EQ(wholes("W8A8 m16n8k16"), (Words{"w8a8", "m16n8k16"}));
}

TEST(TokenizerTest, FoldsAccentsAndNamesGreek) {
  EXPECT_EQ(wholes("Atención de VÍDEO, fusión"), (Words{"atencion", "de", "video", "fusion"}));
  EXPECT_EQ(wholes("cuantizacio\xCC\x81n"), Words{"cuantizacion"});  // combining accent
  EXPECT_EQ(wholes("σ0 α–β"), (Words{"sigma0", "alpha", "beta"}));
  EXPECT_EQ(fold("ÑANDÚ"), "nandu");
}

TEST(TokenizerTest, TakesAnyBytes) {
  EXPECT_EQ(wholes("a\xFF\xFE"
                   "b +\"c\"-'d' (e) \xC3"),
            (Words{"a", "b", "c", "d", "e"}));
  EXPECT_TRUE(tokenize("").empty());
  EXPECT_TRUE(tokenize("___ -- ++ \"\"").empty());
  EXPECT_TRUE(tokenize(std::string(5000, 'x')).empty());
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_FALSE(tokenize(all).empty());
}

TEST(TokenizerTest, GivesByteRanges) {
  const std::string text = "¿por qué head_dim?";
  const auto tokens = tokenize(text);
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(text.substr(tokens[2].begin, tokens[2].end - tokens[2].begin), "head_dim");
}

}  // namespace
}  // namespace ditar::knowledge
