#include "ditar/coordinator/git_repository.h"

#include "build/build_commands.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/tree_export.h"
#include "scratch_repository.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ditar {
namespace {

using Names = std::vector<std::string>;

TEST(GitRepositoryTest, ReadsCommitsTreesAndBranch) {
  const ScratchRepository scratch;
  scratch.put("a/b.txt", "one\n");
  scratch.commit("first");
  scratch.put("a/b.txt", "two\n");
  scratch.shell("git switch -q -c autoresearch/mar5");
  scratch.commit("más rápido");
  const GitRepository git = GitRepository::open(scratch.root() / "a");
  EXPECT_EQ(git.root(), scratch.root());
  EXPECT_EQ(git.branch(), "autoresearch/mar5");
  const Names parents = git.parents_of(git.head());
  ASSERT_EQ(parents.size(), 1u);
  EXPECT_EQ(parents[0], git.resolve_commit("main"));
  EXPECT_EQ(git.message_of(git.head()), "más rápido\n");
  EXPECT_EQ(git.read_blob(git.object_at(parents[0], "a/b.txt")), "one\n");
  EXPECT_EQ(git.object_at(parents[0], "none"), "");
  EXPECT_THROW(git.resolve_commit("nothing"), InvalidArgument);
  EXPECT_THROW(git.resolve_commit("--all"), InvalidArgument);
  EXPECT_THROW(GitRepository::open("/"), InvalidArgument);
  scratch.shell("git checkout -q --detach");
  EXPECT_EQ(git.branch(), "");
}

TEST(GitRepositoryTest, DiffShowsModesLinksAndNoRenames) {
  const ScratchRepository scratch;
  scratch.put("kernels/a.cc", "same content, moved\n");
  scratch.put("kernels/run.sh", "x\n");
  scratch.commit("first");
  scratch.shell(
      "git mv kernels/a.cc kernels/b.cc && chmod +x kernels/run.sh && "
      "ln -s /etc/passwd kernels/link");
  scratch.put("README.md", "r\n");
  scratch.commit("second");
  const GitRepository git = GitRepository::open(scratch.root());
  const auto changes = git.diff_trees(git.tree_of("HEAD^"), git.tree_of("HEAD"));
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_EQ(changes[0].path, "README.md");
  EXPECT_EQ(changes[1].kind, 'D');
  EXPECT_EQ(changes[2].kind, 'A');
  EXPECT_EQ(changes[3].new_mode, "120000");
  EXPECT_EQ(changes[4].old_mode, "100644");
  EXPECT_EQ(changes[4].new_mode, "100755");
  const Names faults = change_faults(changes, PathRules({}, {"kernels/"}));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0], "\"README.md\" is outside mutable_paths");
  EXPECT_NE(faults[1].find("symbolic link"), std::string::npos);
}

TEST(GitRepositoryTest, FilesThatGitObeysAndBuildCommandsAreFaults) {
  const ScratchRepository scratch;
  scratch.put("kernels/CMakeLists.txt", "add_custom_command(A)\n");
  scratch.commit("first");
  scratch.put("kernels/.gitattributes", "*.cc filter=x\n");
  scratch.put("kernels/CMakeLists.txt", "add_custom_command(A)\n# more\n");
  scratch.put("kernels/own.cmake", "Execute_Process(COMMAND ls)\n");
  scratch.commit("second");
  const GitRepository git = GitRepository::open(scratch.root());
  const auto changes = git.diff_trees(git.tree_of("HEAD~1"), git.tree_of("HEAD"));
  const Names faults = change_faults(changes, PathRules({}, {"kernels/"}));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("git itself obeys"), std::string::npos) << faults[0];
  const Names commands = build_command_faults(git, changes);
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_NE(commands[0].find("own.cmake"), std::string::npos) << commands[0];
}

TEST(GitRepositoryTest, StatusNamesStagedChangedHiddenAndUntracked) {
  const ScratchRepository scratch;
  for (const char* name : {"a", "b", "c", "d"}) scratch.put(name, "1\n");
  scratch.put(".gitignore", "/.autoresearch/\n*.o\n");
  scratch.commit("first");
  const GitRepository git = GitRepository::open(scratch.root());
  scratch.put(".autoresearch/ledger.jsonl", "x");
  scratch.put("x.o", "x");
  EXPECT_TRUE(git.status().clean());
  EXPECT_TRUE(git.is_ignored(".autoresearch/ledger.jsonl"));
  EXPECT_FALSE(git.is_ignored("a"));
  scratch.put("a", "2\n");
  scratch.shell("git add a");
  scratch.put("a", "1\n");  // staged only
  scratch.put("b", "2\n");
  scratch.put("c", "2\n");
  scratch.shell("git update-index --assume-unchanged c && rm d");
  scratch.put("new file", "x");
  const WorkTreeStatus status = git.status();
  EXPECT_EQ(status.changed, (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(status.untracked, Names{"new file"});
}

TEST(GitRepositoryTest, RefsMoveOnlyByCompareAndSwap) {
  const ScratchRepository scratch;
  scratch.put("a", "1\n");
  scratch.commit("first");
  scratch.put("a", "2\n");
  scratch.commit("second");
  const GitRepository git = GitRepository::open(scratch.root());
  const std::string first = git.resolve_commit("HEAD^"), second = git.head();
  const std::string ref = "refs/dit-ar/lane/best";
  EXPECT_EQ(git.read_ref(ref), "");
  EXPECT_TRUE(git.update_ref(ref, first, "", "start"));
  EXPECT_FALSE(git.update_ref(ref, second, "", "again"));
  EXPECT_FALSE(git.update_ref(ref, first, second, "wrong"));
  EXPECT_EQ(git.read_ref(ref), first);
  EXPECT_TRUE(git.update_ref(ref, second, first, "line\nbreak"));
  EXPECT_EQ(git.list_refs("refs/dit-ar/").size(), 1u);
  EXPECT_THROW(git.update_ref("best", second, "", "no ref"), InvalidArgument);
}

TEST(GitRepositoryTest, ResetAsksForTheArchiveAndLosesNothing) {
  const ScratchRepository scratch;
  scratch.put("a", "1\n");
  scratch.commit("first");
  scratch.put("a", "2\n");
  scratch.commit("second");
  const GitRepository git = GitRepository::open(scratch.root());
  const std::string first = git.resolve_commit("HEAD^"), second = git.head();
  const std::string ref = "refs/dit-ar/lane/mar5-0001";
  EXPECT_THROW(git.reset_hard(first, second, ref), Error);
  ASSERT_TRUE(git.update_ref(ref, second, "", "archive"));
  scratch.put("a", "3\n");
  EXPECT_THROW(git.reset_hard(first, second, ref), Error);
  EXPECT_EQ(scratch.get("a"), "3\n");
  scratch.put("a", "2\n");
  scratch.put("notes.txt", "mine\n");
  EXPECT_THROW(git.reset_hard(first, first, ref), Error);
  git.reset_hard(first, second, ref);
  EXPECT_EQ(git.head(), first);
  EXPECT_EQ(git.branch(), "main");
  EXPECT_EQ(scratch.get("a"), "1\n");
  EXPECT_EQ(scratch.get("notes.txt"), "mine\n");
}

TEST(GitRepositoryTest, HostileConfigurationAndHooksTakeNoPart) {
  const ScratchRepository scratch;
  scratch.put("a.txt", "one\n");
  scratch.put(".gitattributes", "*.txt filter=evil diff=evil text eol=crlf\n");
  scratch.commit("first");
  scratch.put("a.txt", "one\ntwo\n");
  scratch.commit("second");
  const std::string trap = "touch '" + scratch.beside("trap").string() + "'";
  scratch.put("hooks/t", "#!/bin/sh\n" + trap + "\n");
  scratch.shell("chmod +x hooks/t && mv hooks/t .git/t && rmdir hooks");
  scratch.shell(
      "for h in post-checkout reference-transaction post-index-change fsmonitor; do "
      "cp .git/t .git/hooks/$h; done");
  scratch.shell(
      "for k in filter.evil.clean filter.evil.smudge diff.evil.textconv "
      "diff.evil.command diff.external core.fsmonitor core.pager; do "
      "git config $k \"$PWD/.git/t\"; done; git config core.autocrlf true; "
      "git config alias.cat-file \"!$PWD/.git/t\"; rm -f '" +
      scratch.beside("trap").string() + "'");
  const GitRepository git = GitRepository::open(scratch.root());
  const std::string head = git.head();
  EXPECT_TRUE(git.status().clean()) << testing::PrintToString(git.status().changed);
  scratch.put("a.txt", "one\r\ntwo\r\n");
  EXPECT_TRUE(git.status().clean());
  EXPECT_NE(git.diff_text(git.tree_of(head + "^"), git.tree_of(head)).find("\n+two"),
            std::string::npos);
  EXPECT_TRUE(git.update_ref("refs/dit-ar/l/a", head, "", "r"));
  sync_tree(git, git.tree_of(head), scratch.beside("out"));
  EXPECT_EQ(ScratchRepository::read(scratch.beside("out") / "a.txt"), "one\ntwo\n");
  EXPECT_FALSE(std::filesystem::exists(scratch.beside("trap")));
}

TEST(GitRepositoryTest, ReplacedCommitsAndForeignEnvironmentAreIgnored) {
  const ScratchRepository scratch;
  scratch.put("a", "1\n");
  scratch.commit("first");
  scratch.put("a", "2\n");
  scratch.commit("second");
  scratch.shell("git replace HEAD HEAD^");
  setenv("GIT_DIR", "/nonexistent", 1);
  const GitRepository git = GitRepository::open(scratch.root());
  EXPECT_EQ(git.read_blob(git.object_at(git.head(), "a")), "2\n");
  EXPECT_EQ(git.parents_of(git.head()).size(), 1u);
  unsetenv("GIT_DIR");
}

TEST(TreeExportTest, WritesBytesAndKeepsTimesOfSameFiles) {
  const ScratchRepository scratch;
  scratch.put("same.txt", "s\n");
  scratch.put("d/change.txt", "1\n");
  scratch.put("gone/old.txt", "o\n");
  scratch.put("bin", std::string("\0\r\n\xff", 4));
  scratch.commit("first");
  const GitRepository git = GitRepository::open(scratch.root());
  const auto out = scratch.beside("out");
  EXPECT_EQ(sync_tree(git, git.tree_of("HEAD"), out).written, 4);
  EXPECT_EQ(ScratchRepository::read(out / "bin"), std::string("\0\r\n\xff", 4));
  const auto time = std::filesystem::last_write_time(out / "same.txt");
  scratch.put("d/change.txt", "2\n");
  scratch.shell("git rm -q gone/old.txt");
  scratch.commit("second");
  std::ofstream(out / "stray") << "x";
  const ExportResult again = sync_tree(git, git.tree_of("HEAD"), out);
  EXPECT_EQ(again.written, 1);
  EXPECT_EQ(again.kept, 2);
  EXPECT_EQ(again.removed, 2);
  EXPECT_EQ(std::filesystem::last_write_time(out / "same.txt"), time);
  EXPECT_FALSE(std::filesystem::exists(out / "gone"));
}

TEST(TreeExportTest, RefusesLinksAndSubmodulesAndNeverFollowsOne) {
  const ScratchRepository scratch;
  scratch.put("d/a.txt", "1\n");
  scratch.commit("good");
  scratch.shell("ln -s /tmp link");
  scratch.commit("link");
  const GitRepository git = GitRepository::open(scratch.root());
  EXPECT_THROW(sync_tree(git, git.tree_of("HEAD"), scratch.beside("out")), DataError);
  scratch.shell("git rm -q link && git update-index --add --cacheinfo 160000," + git.head() +
                ",sub && git commit -q -m sub");
  EXPECT_THROW(sync_tree(git, git.tree_of("HEAD"), scratch.beside("out")), DataError);
  // A link planted in the target folder is replaced, not followed.
  const auto out = scratch.beside("out2"), victim = scratch.beside("victim");
  std::filesystem::create_directories(victim);
  std::filesystem::create_directories(out);
  std::filesystem::create_directory_symlink(victim, out / "d");
  sync_tree(git, git.tree_of(git.resolve_commit("HEAD~2")), out);
  EXPECT_TRUE(std::filesystem::is_empty(victim));
  EXPECT_EQ(ScratchRepository::read(out / "d/a.txt"), "1\n");
}

TEST(TreeExportTest, OddNamesAreNamed) {
  for (const char* bad : {"", "/a", "a//b", "a/../b", ".", "a/.git/config", ".GIT/x", "a\nb",
                          "a\\b", "a/", ".autoresearch/x"}) {
    EXPECT_NE(path_name_fault(bad), "") << bad;
  }
  for (const char* good : {"a", "a b/ñ.txt", ".github/x", ".gitignore", "-x"}) {
    EXPECT_EQ(path_name_fault(good), "") << good;
  }
}

}  // namespace
}  // namespace ditar
