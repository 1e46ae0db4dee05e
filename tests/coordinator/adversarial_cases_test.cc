// The adversarial suite's cases without measuring them: each is complete, says beforehand what it
// is to get, and still makes a commit out of these sources.
#include "adversarial/scratch_clone.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/adversarial.h"
#include "scratch_repository.h"
#include "test_paths.h"

#include <gtest/gtest.h>

#include <set>

namespace ditar {
namespace {

const std::filesystem::path kCases = std::string(DITAR_SOURCE_DIR) + "/tests/adversarial";

TEST(AdversarialCasesTest, EveryCaseSaysWhatItIsToGet) {
  std::set<std::string> words;
  for (const AdversarialCase& one : read_cases(kCases)) {
    SCOPED_TRACE(one.name);
    EXPECT_FALSE(one.what.empty());
    EXPECT_FALSE(one.expected.empty());
    const bool changes =
        !one.engine.empty() || !one.knobs.empty() || !one.edits.empty() || !one.links.empty();
    EXPECT_EQ(changes, one.not_run.empty()) << "a case that runs changes something";
    for (const std::string& expected : one.expected) {
      words.insert(expected.substr(0, expected.find('(')));
      EXPECT_TRUE(one.kind == "honest" || expected != "KEEP") << "a cheat is never to be kept";
    }
  }
  EXPECT_EQ(words, (std::set<std::string>{"KEEP", "DISCARD", "CRASH", "REFUSED"}));
}

TEST(AdversarialCasesTest, ReadmeHoldsTheTableOfTheCases) {
  const std::string readme = ScratchRepository::read(kCases / "README.md");
  std::string table;
  for (const std::string& line : case_table(read_cases(kCases))) table += line + "\n";
  EXPECT_NE(readme.find("\n" + table), std::string::npos)
      << "put the output of dit-ar doctor --adversarial --table into the page:\n"
      << table;
}

TEST(AdversarialCasesTest, HonestKeepComesLast) {
  const auto cases = read_cases(kCases);
  ASSERT_GT(cases.size(), 30U);
  EXPECT_EQ(cases.back().expected, std::vector<std::string>{"KEEP"});
  EXPECT_EQ(cases.front().kind, "cheat");
}

/// The paths that the cases edit, as they are in this tree.
void copy_edited_sources(const ScratchRepository& scratch,
                         const std::vector<AdversarialCase>& cases) {
  std::set<std::string> paths = {"worker/dit/make_engine.cc", "config/engine.json"};
  for (const AdversarialCase& one : cases) {
    for (const CaseEdit& edit : one.edits) paths.insert(edit.file);
  }
  for (const std::string& path : paths) {
    const std::filesystem::path file = std::filesystem::path(DITAR_SOURCE_DIR) / path;
    if (std::filesystem::exists(file)) scratch.put(path, ScratchRepository::read(file));
  }
  scratch.put("kernels/placeholder", "\n");
  scratch.commit("sources");
}

TEST(AdversarialCasesTest, EveryCaseStillFitsTheSources) {
  const auto cases = read_cases(kCases);
  const ScratchRepository scratch;
  copy_edited_sources(scratch, cases);
  ScratchClone clone(scratch.root(), scratch.beside("clone"));
  for (const AdversarialCase& one : cases) {
    SCOPED_TRACE(one.name);
    if (!one.not_run.empty()) continue;
    clone.reset();
    EXPECT_NO_THROW(clone.commit(one, "// shared\n"));
    const GitRepository git = GitRepository::open(clone.folder());
    EXPECT_EQ(git.parents_of(git.head()).size(), 1U);
    EXPECT_NE(git.tree_of("HEAD"), git.tree_of("HEAD~1"));
  }
}

TEST(AdversarialCasesTest, AnEditThatNoLongerFitsIsNamed) {
  const ScratchRepository scratch;
  scratch.put("file", "one one\n");
  scratch.commit("sources");
  ScratchClone clone(scratch.root(), scratch.beside("clone"));
  AdversarialCase one;
  one.name = "twice";
  one.edits = {{"file", "one", "two", ""}};
  try {
    clone.commit(one, "");
    FAIL() << "an ambiguous edit was made";
  } catch (const DataError& error) {
    EXPECT_NE(error.message().find("twice: file"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace ditar
