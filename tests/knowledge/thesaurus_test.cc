#include "thesaurus.h"

#include <gtest/gtest.h>

namespace ditar::knowledge {
namespace {

constexpr std::string_view kSynonyms =
    "# comment\n"
    "vram, video memory, device memory\n"
    "layernorm, layer norm, norm\n"
    "launch overhead, kernel launch\n";
constexpr std::string_view kGlossary =
    "# Glossary\n\n| English | Spanish | meaning |\n|---|---|---|\n"
    "| vram | memoria de vídeo, memoria de la GPU | board memory |\n"
    "| bottleneck | cuello de botella | slowest part |\n"
    "| norm fusion | fusión de normas | one pass |\n";

int concept_of(const Thesaurus& thesaurus, std::string_view text) {
  const auto found = thesaurus.match(tokenize(text));
  return found.empty() ? -1 : found.front().concept_id;
}

TEST(ThesaurusTest, JoinsSynonymsAndGlossaryRows) {
  const Thesaurus thesaurus(kSynonyms, kGlossary);
  const int vram = concept_of(thesaurus, "VRAM");
  EXPECT_GE(vram, 0);
  EXPECT_EQ(concept_of(thesaurus, "device memory"), vram);
  EXPECT_EQ(concept_of(thesaurus, "memoria de vídeo"), vram);
  EXPECT_EQ(concept_of(thesaurus, "memoria vídeo"), vram);  // function words do not matter
  EXPECT_NE(concept_of(thesaurus, "cuellos de botella"), vram);
  EXPECT_EQ(concept_of(thesaurus, "cuellos de botella"), concept_of(thesaurus, "bottlenecks"));
}

TEST(ThesaurusTest, PrefersTheLongestPhrase) {
  const Thesaurus thesaurus(kSynonyms, kGlossary);
  const auto found = thesaurus.match(tokenize("norm fusion"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 2U);
  EXPECT_NE(found[0].concept_id, concept_of(thesaurus, "LayerNorm"));
}

TEST(ThesaurusTest, UnknownWordsMatchNothing) {
  const Thesaurus thesaurus(kSynonyms, kGlossary);
  EXPECT_TRUE(thesaurus.match(tokenize("quantum annealing memory")).empty());
  EXPECT_TRUE(Thesaurus("", "").match(tokenize("vram")).empty());
}

}  // namespace
}  // namespace ditar::knowledge
